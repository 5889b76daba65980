"""Parties in one process without clocks: a round ends when everybody has sent or is gone. The same party code runs as over sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from reticent.noise.faults import LeftOnPurpose, misbehaving
from reticent.noise.network import NoiseAborted


class Hub:
    """Where messages wait, by receiver, sender and number; parties that end are gone."""

    def __init__(self, parties: int) -> None:
        self.mail: dict[tuple[int, int], dict[int, bytes | None]] = {}
        self.gone: set[int] = set()
        self.changed = asyncio.Condition()


class LockstepNetwork:
    def __init__(self, hub: Hub, me: int, holders: int, faults: int, everybody: int | None = None) -> None:
        self.hub, self.me, self.holders, self.faults = hub, me, holders, faults
        self.blamed: dict[int, str] = {}
        self.transcript: list[dict[str, object]] = []
        self.items: list[str] = []
        self._everybody = everybody or holders
        self._sent: dict[int, int] = {}
        self._taken: dict[int, int] = {}

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None, meant: Sequence[int] = ()
    ) -> dict[int, bytes]:
        self.items.append(item)
        async with self.hub.changed:
            for receiver in {*outgoing, *meant}:
                number = self._sent[receiver] = self._sent.get(receiver, -1) + 1
                self.hub.mail.setdefault((self.me, receiver), {})[number] = outgoing.get(receiver)
            self.hub.changed.notify_all()
        arrived = {}
        for sender in range(self.holders) if senders is None else senders:
            number = self._taken[sender] = self._taken.get(sender, -1) + 1
            box = self.hub.mail.setdefault((sender, self.me), {})
            async with self.hub.changed:
                await self.hub.changed.wait_for(
                    lambda box=box, number=number, sender=sender: number in box or sender in self.hub.gone
                )
            payload = box.pop(number, None)
            if payload is not None:
                arrived[sender] = payload
            else:
                self.blame(sender, f"sent nothing ({item})")
        return arrived

    def expect(self, longest: int) -> None:
        self.longest = longest

    def record(self, step: str, said: object) -> None:
        self.transcript.append({"step": step, "said": said})

    def blame(self, party: int, why: str) -> None:
        if party != self.me:
            self.blamed.setdefault(party, why)


Protocol = Callable[[Any], Coroutine[Any, Any, Any]]


def play(
    protocols: Sequence[Protocol], holders: int, faults: int, behaviours: Mapping[int, str] | None = None
) -> list[Any]:
    """Run one coroutine for each party, and return what each returned or raised."""

    async def main() -> list[Any]:
        hub = Hub(len(protocols))

        async def one(me: int, protocol: Protocol) -> Any:
            network: Any = LockstepNetwork(hub, me, holders, faults)
            if behaviours and me in behaviours:
                network = _Noted(misbehaving(network, behaviours[me], faults))
            try:
                return await protocol(network)
            except (NoiseAborted, LeftOnPurpose) as error:
                return error
            except Exception as error:
                if behaviours and me in behaviours:
                    return error
                raise
            finally:
                hub.gone.add(me)
                async with hub.changed:
                    hub.changed.notify_all()

        return await asyncio.wait_for(
            asyncio.gather(*(one(me, protocol) for me, protocol in enumerate(protocols))), timeout=120
        )

    return asyncio.run(main())


class _Noted:
    """A liar whose unsent messages still have their numbers."""

    def __init__(self, liar: Any) -> None:
        self._liar = liar
        inner = liar.inner
        passed = inner.exchange

        async def exchange(
            item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
        ) -> dict[int, bytes]:
            return await passed(item, outgoing, senders, self._meant)

        inner.exchange = exchange
        self._meant: Sequence[int] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._liar, name)

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        self._meant = list(outgoing)
        return await self._liar.exchange(item, outgoing, senders)
