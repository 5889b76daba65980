"""Links: who is who, what is accepted as what, and keys on the disk."""

from __future__ import annotations

import asyncio
import os
import ssl
import stat

import pytest

from reticent.errors import DataError
from reticent.noise.channels import HandshakeFailed, Identity, Link, LinkSession, accept, connect
from reticent.noise.party import bound
from reticent.noise.rounds import PartyAddress, assemble


async def linked(callers, answerer, session_names=("run", "run"), keys=None):
    """Links between one answering party and callers, over loopback."""
    identities = [Identity.new() for _ in range(1 + len(callers))]
    known = tuple(each.public for each in identities) if keys is None else keys(identities)
    listening = bound("127.0.0.1", 0)
    arrived: asyncio.Queue[Link | Exception] = asyncio.Queue()

    async def answer(reader, writer):
        try:
            await arrived.put(
                await accept(LinkSession(session_names[0], 0, identities[0], known), reader, writer, 1 << 20)
            )
        except (HandshakeFailed, asyncio.IncompleteReadError) as error:
            writer.close()
            await arrived.put(error)

    tls = LinkSession(session_names[0], 0, identities[0], known).tls(calling=False)
    server = await asyncio.start_server(answer, sock=listening, ssl=tls)
    port = listening.getsockname()[1]
    made = []
    for caller in callers:
        session = LinkSession(session_names[1], caller, identities[caller], known)
        made.append((await connect(session, 0, "127.0.0.1", port, 1 << 20), await arrived.get()))
    server.close()
    return made


def passed(write, take, names=("item", "item")):
    """What arrives of a message that one end writes and the other takes."""

    async def main():
        ((caller, answerer),) = await linked([1], 0)
        event = asyncio.Event()
        task = asyncio.create_task(answerer.listen(event))
        write(caller, names[0])
        await asyncio.wait_for(event.wait(), 5)
        found = take(answerer, names[1])
        caller.close()
        answerer.close()
        await task
        return found

    return asyncio.run(main())


def test_a_message_arrives_as_what_it_was_sent_as():
    assert passed(lambda link, item: link.send(item, b"hello"), lambda link, item: link.take(item)) == b"hello"


def test_a_message_for_another_item_is_not_taken():
    assert (
        passed(lambda link, item: link.send(item, b"x"), lambda link, item: link.take(item), ("one", "other")) is None
    )


def test_a_message_of_another_round_is_not_taken():
    def write(link, item):
        frame = link.sealed(item, b"first")
        link.sealed(item, b"second")
        link.write(frame[:4] + (1).to_bytes(4, "little") + frame[8:])

    def take(link, item):
        link.take(item)
        return link.take(item)

    assert passed(write, take) is None


def test_a_copied_message_of_another_party_is_not_taken():
    """DN-G9: the copy of a bit would make the exclusive or of both always 0; on another link it is labelled wrong."""

    async def main():
        (one, first), (other, second) = await linked([1, 2], 0)
        event = asyncio.Event()
        tasks = [asyncio.create_task(link.listen(event)) for link in (first, second)]
        frame = one.sealed("bit", b"\1")
        one.write(frame)
        other.write(frame)
        while not (first.has_next and second.has_next):
            event.clear()
            await asyncio.wait_for(event.wait(), 5)
        found = first.take("bit"), second.take("bit")
        for link in (one, other, first, second):
            link.close()
        await asyncio.gather(*tasks)
        return found

    assert asyncio.run(main()) == (b"\1", None)
    assert {bit ^ bit for bit in (0, 1)} == {0}


@pytest.mark.parametrize("raw", [b"\xff" * 64, b"\0\0\0\x7f" + b"\0" * 60, b"\1\0\0\0\xff\xff\xff\xff" + b"x" * 32])
def test_bytes_that_are_no_message_end_the_link(raw):
    async def main():
        ((caller, answerer),) = await linked([1], 0)
        event = asyncio.Event()
        task = asyncio.create_task(answerer.listen(event))
        caller.write(raw)
        await asyncio.wait_for(task, 5)
        caller.close()
        answerer.close()
        return answerer.gone, answerer.has_next

    assert asyncio.run(main()) == (True, False)


def test_a_party_with_another_key_or_of_another_session_is_not_let_in():
    other = Identity.new().public

    async def main(**given):
        await linked([1], 0, **given)

    with pytest.raises((HandshakeFailed, asyncio.IncompleteReadError, OSError)):
        asyncio.run(main(session_names=("run", "another run")))
    with pytest.raises((HandshakeFailed, asyncio.IncompleteReadError, OSError)):
        asyncio.run(main(keys=lambda made: (made[0].public, other)))
    with pytest.raises((HandshakeFailed, asyncio.IncompleteReadError, OSError)):
        asyncio.run(main(keys=lambda made: (other, made[1].public)))


def test_links_are_tls_1_3_with_a_certificate_of_each_side():
    async def main():
        ((caller, answerer),) = await linked([1], 0)
        found = [link.writer.get_extra_info("ssl_object") for link in (caller, answerer)]
        told = [(each.version(), each.getpeercert(binary_form=True) is not None) for each in found]
        caller.close()
        answerer.close()
        return told

    assert asyncio.run(main()) == [("TLSv1.3", True), ("TLSv1.3", True)]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, None])
def test_older_tls_and_callers_without_a_certificate_are_refused(version):
    """A caller that knows the certificates of all and holds none of their keys, or speaks TLS 1.2."""

    async def main():
        identities = [Identity.new() for _ in range(2)]
        known = tuple(each.public for each in identities)
        entered = []
        session = LinkSession("run", 0, identities[0], known)
        server = await asyncio.start_server(
            lambda reader, writer: entered.append(writer), "127.0.0.1", 0, ssl=session.tls(calling=False)
        )
        context = LinkSession("run", 1, identities[1], known).tls(calling=True)
        if version is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        else:
            context.minimum_version, context.maximum_version = version, version
        try:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=context)
            writer.write(b"x" * 44)
            heard = await asyncio.wait_for(reader.read(1), 5)
        except OSError:
            heard = b""
        server.close()
        return heard

    assert asyncio.run(main()) == b""


def test_somebody_who_is_no_party_cannot_keep_the_parties_from_meeting():
    """Garbage, silence and a copied greeting on the listening ports; the parties meet all the same."""

    async def main():
        identities = [Identity.new() for _ in range(4)]
        keys = tuple(each.public for each in identities)
        sockets = [bound("127.0.0.1", 0) for _ in range(4)]
        places = [PartyAddress("127.0.0.1", each.getsockname()[1]) for each in sockets]
        strangers = []
        for place in places:
            writer = (await asyncio.open_connection(place.host, place.port))[1]
            writer.write(os.urandom(200))
            strangers.append(writer)
            strangers.append((await asyncio.open_connection(place.host, place.port))[1])
        networks = await asyncio.gather(
            *(
                assemble(
                    LinkSession("run", me, identities[me], keys),
                    places,
                    1,
                    sockets[me],
                    patience=5,
                    gathering=10,
                    largest=1000,
                )
                for me in range(4)
            )
        )
        met = [sorted(network.links) for network in networks]
        heard = await asyncio.gather(
            *(network.exchange("x", dict.fromkeys(range(4), bytes([me]))) for me, network in enumerate(networks))
        )
        await asyncio.gather(*(network.leave() for network in networks))
        for writer in strangers:
            writer.close()
        return met, heard

    met, heard = asyncio.run(main())
    assert met == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert heard == [{me: bytes([me]) for me in range(4)}] * 4


def test_a_private_key_is_readable_by_its_owner_alone(tmp_path):
    identity = Identity.new()
    identity.save(tmp_path / "key.pem")
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert Identity.load(tmp_path / "key.pem").public == identity.public
    with pytest.raises(FileExistsError):
        identity.save(tmp_path / "key.pem")


def test_a_key_that_others_can_read_or_that_is_none_is_refused(tmp_path):
    path = tmp_path / "key.pem"
    Identity.new().save(path)
    path.chmod(0o644)
    with pytest.raises(DataError, match="other users have permissions on it"):
        Identity.load(path)
    path.write_text("nothing")
    path.chmod(0o600)
    with pytest.raises(DataError, match="cannot be read"):
        Identity.load(path)
    with pytest.raises(DataError, match="cannot be read"):
        Identity.load(tmp_path / "missing.pem")


def test_settings_do_not_show_the_private_key():
    identity = Identity.new()
    session = LinkSession("run", 0, identity, ())
    assert identity.to_bytes().hex() not in repr(session)
