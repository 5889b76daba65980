-- A web shop.
CREATE TABLE customer (
    id      BIGINT PRIMARY KEY,
    email   TEXT NOT NULL,
    country TEXT NOT NULL,
    vip     BOOLEAN NOT NULL
);
CREATE TABLE purchase (
    id       BIGINT PRIMARY KEY,
    customer BIGINT NOT NULL REFERENCES customer (id),
    placed   DATE NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('open', 'paid', 'returned'))
);
CREATE TABLE item (
    purchase BIGINT NOT NULL REFERENCES purchase (id),
    line     INT NOT NULL,
    category TEXT NOT NULL,
    price    NUMERIC(10,2) NOT NULL,
    PRIMARY KEY (purchase, line)
);
CREATE TABLE visit (
    customer BIGINT NOT NULL,
    page     TEXT NOT NULL,
    seen     DATE NOT NULL
);
