import type { Chain } from '../chain/chain.ts';
import type { Checkpoint } from '../chain/checkpoint.ts';
import { encodeCheckpoint } from '../chain/close-checkpoint.ts';
import type { TransactionRecord } from '../chain/transaction.ts';
import type { SuiFault } from './faults.ts';

type Forgery = Extract<SuiFault, { kind: 'fork' | 'forge-without' }>;

/** Version-specific data that differs from the real chain's, so that a fork has other digests. */
const OF_A_FORK = Uint8Array.of(0, 1, 0, 0, 0, 0, 0, 0, 0, 0);

interface Made {
  readonly checkpoints: Map<number, Checkpoint>;
  next: number;
}

const forgeries = new WeakMap<Forgery, Made>();

/** Forged checkpoints link to each other from the fault's first one on. */
export function forgedCheckpoint(chain: Chain, checkpoint: Checkpoint, fault: Forgery): Checkpoint {
  const first = Math.max(fault.fromCheckpoint, chain.lowestCheckpoint);
  const made = forgeries.get(fault) ?? { checkpoints: new Map<number, Checkpoint>(), next: first };
  forgeries.set(fault, made);
  for (; made.next <= checkpoint.number; made.next += 1) {
    const truth = chain.checkpoints.get(made.next);
    const before = made.next - 1;
    const previous = made.checkpoints.get(before) ?? chain.checkpoints.get(before);
    if (truth !== undefined) made.checkpoints.set(made.next, forge(truth, previous, fault));
  }
  return made.checkpoints.get(checkpoint.number) ?? checkpoint;
}

function forge(truth: Checkpoint, previous: Checkpoint | undefined, fault: Forgery): Checkpoint {
  const isFork = fault.kind === 'fork';
  const transactions = isFork
    ? truth.transactions
    : truth.transactions.filter((record) => !pays(record, [fault.address]));
  const before = previous?.totalTransactions ?? truth.totalTransactions - truth.transactions.length;
  const summary = {
    ...truth,
    previousDigest: previous?.digest ?? truth.previousDigest,
    totalTransactions: before + transactions.length,
  };
  return encodeCheckpoint(summary, transactions, ...(isFork ? [OF_A_FORK] : []));
}

export function pays({ outcome }: TransactionRecord, addresses: readonly string[]): boolean {
  return outcome.balanceChanges.some(({ address, amount }) => amount > 0n && addresses.includes(address));
}
