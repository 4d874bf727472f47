import { TRANSFER_IDS_PER_EVENT, type EventData, type EventType } from '@opentill/contracts/event-catalog';
import { newEvent, type OutboxEvent } from '@opentill/db/outbox';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import { verifiedBlock, type ChainState } from './chain-state.ts';
import type { WrittenTransfers } from './scan-change.ts';
import type { ScanNetwork } from './scan-network.ts';

/**
 * The events of one commit: what was taken back first, then what was detected, then how far the chain is verified.
 * Lists too long for one event become several.
 */
export function eventsOf(
  { chain, family }: Pick<ScanNetwork, 'chain' | 'family'>,
  before: ChainState,
  after: ChainState,
  written: WrittenTransfers,
  deps: { readonly newId: NewId; readonly clock: Clock },
): readonly OutboxEvent[] {
  const make = <T extends EventType>(type: T, data: EventData[T]): OutboxEvent =>
    newEvent(type, family, data, deps);
  const verifiedParts = inParts(written.verifiedIds);
  if (verifiedParts.length === 0 && after.verifiedHeight > before.verifiedHeight) verifiedParts.push([]);
  const { height, timeSeconds: blockTimeSeconds } = verifiedBlock(after);
  return [
    ...inParts(written.orphanedIds).map((transferIds) => make('transfer.orphaned', { chain, transferIds })),
    ...inParts(written.detectedIds).map((transferIds) => make('transfer.detected', { chain, transferIds })),
    ...verifiedParts.map((transferIds) =>
      make('block.verified', { chain, height, blockTimeSeconds, transferIds }),
    ),
  ];
}

function inParts(ids: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let at = 0; at < ids.length; at += TRANSFER_IDS_PER_EVENT)
    parts.push(ids.slice(at, at + TRANSFER_IDS_PER_EVENT));
  return parts;
}
