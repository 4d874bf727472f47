import { checkFailureOf, type CheckFailure } from '@opentill/chain/check-failure';
import { readScannedStatus, writeChainStatus } from '@opentill/db/chain-status';
import type { Db } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import { requireRegistered } from '@opentill/db/registered-chains';
import { stopsPayouts, type ChainStatus } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import { createStartGates, type StartGate, type StartGates } from '@opentill/runtime/start-gates';
import type { PayingNetwork } from '../payouts/paying-network.ts';

/** Shared by all drivers of a chain. */
export interface DrivenChain {
  readonly gate: StartGate<CheckFailure>;
  /** The chain failed this service's checks, or the scanner halted it. Payouts wait. */
  stop(): Promise<ChainStatus | undefined>;
  report(lease: Lease, isAdmitted: boolean): Promise<void>;
}

const RUNNING: ChainStatus = { state: 'RUNNING', reason: null, detail: null };

export function createSignerGates(
  clock: { now(): Date },
  onNoneUsable: (error: unknown) => void,
): StartGates<CheckFailure> {
  return createStartGates({
    failureOf: checkFailureOf,
    nowMs: () => clock.now().getTime(),
    onNoneUsable,
  });
}

export type DrivenChains = ReadonlyMap<Chain, DrivenChain>;

export interface DrivenChainsDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly networks: readonly PayingNetwork[];
  readonly fail: (error: unknown) => void;
  readonly onNoneUsable?: (error: unknown) => void;
}

export function openDrivenChains({
  db,
  clock,
  networks,
  fail,
  onNoneUsable = fail,
}: DrivenChainsDeps): DrivenChains {
  const gates = createSignerGates(clock, onNoneUsable);
  return new Map(
    networks.map(({ network, sender }) => {
      const gate = gates.add(async (options) => {
        await requireRegistered(db, network);
        await sender.checkNetwork(options);
      });
      return [network.chain, openDrivenChain(db, network.chain, gate)];
    }),
  );
}

function openDrivenChain(db: Db, chain: Chain, gate: StartGate<CheckFailure>): DrivenChain {
  const reported = new Map<Lease['name'], string>();
  const own = (): ChainStatus => {
    const failure = gate.leftOut();
    return failure === undefined
      ? RUNNING
      : { state: 'LEFT_OUT', reason: failure.code, detail: failure.detail };
  };
  return {
    gate,
    async stop() {
      if (gate.leftOut() !== undefined) return own();
      const scanned = await readScannedStatus(db, chain);
      return scanned !== undefined && stopsPayouts(scanned.state) ? scanned : undefined;
    },
    async report(lease, isAdmitted) {
      if (!isAdmitted && gate.leftOut() === undefined) return;
      const status = own();
      const text = `${lease.fencingToken} ${lease.holder} ${JSON.stringify(status)}`;
      if (reported.get(lease.name) === text) return;
      await db.transaction().execute(async (tx) => {
        await assertLease(tx, 'signer', lease);
        await writeChainStatus(tx, 'SIGNER', chain, status);
      });
      reported.set(lease.name, text);
    },
  };
}
