"""Functional mock-up units: components for Simulink, Modelica tools and others, by FMI 2.0."""
