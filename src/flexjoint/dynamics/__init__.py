"""The mathematics: pure functions of a Robot and CasADi SX expressions, one idea a file."""
