"""Links that exist: eigenvalues of pseudo-inertias by NumPy, torques by Pinocchio, the same optimum by SLSQP."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize

import flexjoint as fj
from flexjoint.identification.physical_links import DEVIATIONS, UNSTATED, physical_links
from support.identification import bench, multisine, rough_bench, simulated
from support.pinocchio_model import pinocchio_model


def pseudo_inertias(robot):
    """[[Σ, h], [hᵀ, m]] of every link with mass, from its own numbers."""
    for link in robot.links:
        if link.mass > 0:
            central = np.trace(link.inertia) / 2 * np.eye(3) - link.inertia
            P = np.zeros((4, 4))
            P[:3, :3] = central + link.mass * np.outer(link.com, link.com)
            P[:3, 3] = P[3, :3] = link.mass * link.com
            P[3, 3] = link.mass
            yield P


@pytest.fixture(scope="module")
def panda():
    return fj.load("panda").without_drives().without_friction()


@pytest.fixture(scope="module")
def fitted(panda):
    """Links of a wrong prior fitted to base parameters with noise."""
    table = fj.base_parameters(panda)
    deviation = 1e-3 * np.abs(table.of(panda)) + 1e-4
    base = table.of(panda) + deviation * np.random.default_rng(2).normal(size=deviation.size)
    wrong = panda.replace(
        links=[fj.Link(x.name, x.joint, x.parent, 1.4 * x.mass, 0.8 * x.com, 1.3 * x.inertia) for x in panda.links]
    )
    return base, deviation, wrong, physical_links(wrong, base, np.diag(deviation**2), "a test")


def test_all_links_exist(fitted):
    eigenvalues = [np.linalg.eigvalsh(P) for P in pseudo_inertias(fitted[3].robot)]
    assert len(eigenvalues) >= 7
    assert min(x[0] for x in eigenvalues) > 0
    assert not fitted[3].robot.allow_unphysical


def test_torques_are_those_of_the_base_parameters(panda, fitted):
    """By Pinocchio for the links; the noise of the base parameters is what is left."""
    base, deviation, wrong, found = fitted
    assert found.distance < 1
    q, v, a = np.random.default_rng(4).normal(size=(3, 30, 7))
    model = pinocchio_model(found.robot)
    data = model.createData()
    torque = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a)])
    wanted = fj.base_regressor(wrong, q, v, v, a)
    spread = np.sqrt(np.sum((wanted * deviation) ** 2, axis=-1))
    assert np.max(np.abs(torque - wanted @ base) / spread) < 3
    before = np.array([pin.rnea(m, m.createData(), *row) for m in [pinocchio_model(wrong)] for row in zip(q, v, a)])
    assert np.max(np.abs(before - wanted @ base) / spread) > 100, "the prior is another robot"


def test_links_that_cannot_exist_are_not_returned(panda):
    """A negative inertia among the base parameters."""
    table = fj.base_parameters(panda)
    base = table.of(panda).copy()
    base[table.names.index("panda_joint7.Sigma_xx")] = -0.05
    found = physical_links(panda, base, np.diag((1e-3 * np.abs(base) + 1e-4) ** 2))
    assert min(np.linalg.eigvalsh(P)[0] for P in pseudo_inertias(found.robot)) > 0
    assert found.distance > 4


def test_the_same_optimum_by_another_method():
    """One link: SLSQP over its ten parameters with constraints on P, from another start and with its own cost."""
    robot = bench().without_drives()
    table = fj.base_parameters(robot)
    base = np.array([0.55, 0.03, 0.005])  # h_x, h_y, I_zz: less inertia than h²/m of the mass in the file
    assert table.names == ("hinge.h_x", "hinge.h_y", "hinge.I_zz")
    deviation = np.array([0.01, 0.01, 0.002])
    found = physical_links(robot, base, np.diag(deviation**2))
    prior = next(iter(pseudo_inertias(robot)))
    root = np.linalg.inv(np.linalg.cholesky(prior))

    def cost(half):
        L = np.zeros((4, 4))
        L[np.tril_indices(4)] = half
        P = L @ L.T
        b = np.array([P[0, 3], P[1, 3], P[0, 0] + P[1, 1]])
        X = np.linalg.cholesky(root @ P @ root.T)
        x = np.where(np.eye(4) > 0, np.log(np.maximum(np.diag(X), 1e-12))[:, None], X)
        return np.sum(((b - base) / deviation) ** 2) + np.sum(x[np.tril_indices(4)] ** 2) / UNSTATED**2

    start = np.linalg.cholesky(prior)[np.tril_indices(4)]
    best = minimize(cost, start, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12})
    L = np.zeros((4, 4))
    L[np.tril_indices(4)] = best.x
    ours = next(iter(pseudo_inertias(found.robot)))
    lower = np.linalg.cholesky(ours)[np.tril_indices(4)]
    assert cost(lower) < best.fun * (1 + 1e-6)
    assert np.allclose(ours, L @ L.T, rtol=0, atol=3e-3 * np.abs(ours).max())


def test_trusted_masses_stay(panda):
    """A mass that no torque shows keeps the prior, closer if it is trusted more; deviations say so."""
    table = fj.base_parameters(panda)
    base, covariance = table.of(panda), np.diag((1e-3 * np.abs(table.of(panda)) + 1e-4) ** 2)
    deviations = {}
    for trust in DEVIATIONS:
        sources = [fj.robot.Source("*", trust, "a test")]
        found = physical_links(panda.with_sources(sources), base, covariance)
        deviations[trust] = found.deviations[1, 0] / panda.links[1].mass
    assert list(deviations.values()) == sorted(deviations.values())
    assert deviations["identified"] < 0.1 < deviations["placeholder"]


def test_the_robot_file_loads_as_it_is(tmp_path):
    _, log = simulated(bench(), multisine(0.8, 1, 8.0, count=30), 5)
    heavy = rough_bench().replace(
        links=[fj.Link("arm", rough_bench().joints[0], mass=3.0, com=(0.2, 0.0, 0.0), inertia=0.03 * np.eye(3))]
    )
    found = fj.identification.identify(heavy, log, delay=0.0)
    found.write_robot(tmp_path / "bench.toml")
    robot = fj.load(tmp_path / "bench.toml")
    assert robot == found.links.robot
    source = fj.robot.source_of(robot, "arm.mass")
    assert source.trust == "identified" and "deviations: mass" in source.note
    assert "deviation" in fj.robot.source_of(robot, "hinge.drive.motor.inertia").note
    assert robot.joints[0].drive.stiffness == found["hinge.drive.stiffness"].value
    q = np.linspace(-2, 2, 9)[:, None]
    link, true = robot.without_drives().without_friction(), bench().without_drives()
    assert np.allclose(fj.gravity_torque(link, q), fj.gravity_torque(true, q), atol=0.03)
    assert np.allclose(fj.mass_matrix(link, q), fj.mass_matrix(true, q), rtol=0.01)
    known = fj.identification.identify(bench(), log, delay=0.0, links="known")
    with pytest.raises(fj.InputError, match="taken as known"):
        known.write_robot(tmp_path / "other.toml")


def test_a_payload_exists(tmp_path):
    """A rod of 0.4 kg at the arm; one joint shows 3 of its 10 parameters."""
    loaded = bench().with_payload(0.4, (0.3, 0.0, 0.0), 1e-3 * np.eye(3))
    _, log = simulated(loaded, multisine(0.8, 1, 8.0, count=30), 5)
    found = fj.identification.identify(rough_bench(), log, delay=0.0, links="payload")
    robot = found.links.robot
    assert robot.links[-1].name == "payload" and robot.n == 1
    assert all(np.linalg.eigvalsh(P)[0] > 0 for P in pseudo_inertias(robot))
    q = np.linspace(-2, 2, 9)[:, None]
    mine, true = (x.without_drives().without_friction() for x in (robot, loaded))
    assert np.allclose(fj.gravity_torque(mine, q), fj.gravity_torque(true, q), atol=0.03)
