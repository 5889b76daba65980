-- A hospital. A patient has one row; a stay may have several diagnoses.
CREATE TYPE severity AS ENUM ('mild', 'serious', 'critical');

CREATE TABLE patient (
    pid   INT PRIMARY KEY,
    name  TEXT NOT NULL,
    born  DATE NOT NULL,
    zip   TEXT NOT NULL
);
CREATE TABLE diagnosis (
    pid        INT NOT NULL REFERENCES patient (pid),
    code       TEXT NOT NULL,
    medication TEXT,
    ward       INT NOT NULL,
    level      severity NOT NULL,
    PRIMARY KEY (pid, code)
);
CREATE TABLE ward (
    ward INT PRIMARY KEY,
    name TEXT NOT NULL,
    beds INT NOT NULL
);
