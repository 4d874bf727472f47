import { writeChainStatus } from '@opentill/db/chain-status';
import type { Db } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import { requireRegistered } from '@opentill/db/registered-chains';
import { appendToOutbox } from '@opentill/db/outbox';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { ChainStatus } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import { applyStep, blockAt, seenBlock, type ChainState } from '../chain-state.ts';
import type { ScanChange, Written } from '../scan-change.ts';
import { eventsOf } from '../scan-events.ts';
import type { ScanNetwork } from '../scan-network.ts';
import { createCommitteeStore } from './committee-store.ts';
import { startOrderSpans, type OrderSpans } from './order-spans.ts';
import { readChain } from './read-chain.ts';
import { readOwn } from './read-own.ts';
import {
  answerRescan,
  insertCursor,
  markOrphaned,
  moveCursor,
  recordTransfers,
  upsertBlocks,
} from './write-chain.ts';
import { recordEpochEnds, recordFates, recordForeign, recordLanded } from './write-findings.ts';

export type ScanStore = ReturnType<typeof createScanStore>;

export interface ScanStoreDeps {
  readonly db: Db;
  readonly schema: ServiceSchema;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** Every write checks the lease first, so a stale holder writes no row. */
export function createScanStore(deps: ScanStoreDeps) {
  const { db, schema } = deps;
  return {
    ...readChain(db),
    ...readOwn(db),
    committees: createCommitteeStore(deps),
    requireRegistered: (network: ScanNetwork) => requireRegistered(db, network),

    /** The chain takes orders from its first cursor on. */
    insertFirstState: (lease: Lease, network: ScanNetwork, state: ChainState) =>
      db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        await upsertBlocks(tx, network.chain, state.blocks);
        await insertCursor(tx, network, state, lease.fencingToken);
      }),

    /** One transaction with the events. Throws LEASE_LOST, CURSOR_MOVED. The caller ends the spans. */
    async commit(
      lease: Lease,
      network: ScanNetwork,
      before: ChainState,
      change: ScanChange,
    ): Promise<{ readonly state: ChainState; readonly written: Written; readonly spans: OrderSpans }> {
      const state = applyStep(before, change.step, network.reorgWindow);
      const { written, spans } = await db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        await moveCursor(tx, network.chain, before, {
          state,
          newBlocks: change.step.newBlocks.filter(({ height }) => blockAt(state, height) !== undefined),
          ancestorHeight: change.step.ancestorHeight,
          dropped: change.step.dropped ?? [],
          token: lease.fencingToken,
          isProven: change.proof !== undefined,
        });
        const transfers = {
          ...(await recordTransfers(tx, network, change.matched, change.matchedState, state.verifiedHeight)),
          orphanedIds: await markOrphaned(tx, network.chain, change.orphaned),
          changedFates: await recordFates(tx, network, change.fates ?? []),
        };
        await recordForeign(tx, network.chain, change.foreign ?? []);
        await recordLanded(tx, network.chain, change.landed ?? []);
        await recordEpochEnds(tx, network.chain, change.proof?.epochEnds ?? []);
        const { chain } = network;
        const { height } = seenBlock(state);
        const orderSpans = await startOrderSpans(tx, schema, { chain, height }, transfers);
        await appendToOutbox(
          tx,
          schema,
          orderSpans.traced(eventsOf(network, before, state, transfers, deps)),
        );
        if (change.rescan !== undefined) await answerRescan(tx, change.rescan, transfers.verifiedIds.length);
        return { written: transfers, spans: orderSpans };
      });
      return { state, written, spans };
    },

    writeStatus: (lease: Lease, chain: Chain, status: ChainStatus) =>
      db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        await writeChainStatus(tx, 'SCANNER', chain, status);
      }),
  };
}
