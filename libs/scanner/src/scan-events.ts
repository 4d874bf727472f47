import {
  TRANSFER_IDS_PER_EVENT,
  TX_HASHES_PER_EVENT,
  type EventData,
  type EventType,
} from '@opentill/contracts/event-catalog';
import { newEvent, type OutboxEvent } from '@opentill/db/outbox';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import { verifiedBlock, type ChainState } from './chain-state.ts';
import type { Written } from './scan-change.ts';
import type { ScanNetwork } from './scan-network.ts';

/** Order: orphaned, detected, verified, outcomes of own transactions. A list too long for one event is split. */
export function eventsOf(
  { chain, family }: Pick<ScanNetwork, 'chain' | 'family'>,
  before: ChainState,
  after: ChainState,
  written: Written,
  deps: { readonly newId: NewId; readonly clock: Clock },
): readonly OutboxEvent[] {
  const make = <T extends EventType>(type: T, data: EventData[T]): OutboxEvent =>
    newEvent(type, family, data, deps);
  const verifiedParts = inParts(written.verifiedIds, TRANSFER_IDS_PER_EVENT);
  if (verifiedParts.length === 0 && after.verifiedHeight > before.verifiedHeight) verifiedParts.push([]);
  const { height, timeSeconds: blockTimeSeconds } = verifiedBlock(after);
  const transfers = (type: 'transfer.orphaned' | 'transfer.detected', ids: readonly string[]) =>
    inParts(ids, TRANSFER_IDS_PER_EVENT).map((transferIds) => make(type, { chain, transferIds }));
  return [
    ...transfers('transfer.orphaned', written.orphanedIds),
    ...transfers('transfer.detected', written.detectedIds),
    ...verifiedParts.map((transferIds) =>
      make('block.verified', { chain, height, blockTimeSeconds, transferIds }),
    ),
    ...inParts(written.changedFates, TX_HASHES_PER_EVENT).map((txHashes) =>
      make('fate.changed', { chain, txHashes }),
    ),
  ];
}

function inParts(ids: readonly string[], size: number): string[][] {
  const parts: string[][] = [];
  for (let at = 0; at < ids.length; at += size) parts.push(ids.slice(at, at + size));
  return parts;
}
