import type { Chain } from '../chain/chain.ts';
import type { Checkpoint } from '../chain/checkpoint.ts';
import { refuse } from '../chain/refusal.ts';
import type { TransactionRecord } from '../chain/transaction.ts';
import { digestOf } from '../digest.ts';
import type { SuiFaults } from './faults.ts';
import { inventPayment } from './invent-payment.ts';

/** One of the nodes that serve a chain, with faults of its own. */
export interface Node {
  readonly chain: Chain;
  readonly faults: SuiFaults;
  /** How long a transaction waits for its execution. */
  readonly consensusMs: number;
  /** Checkpoints below are not served. */
  lowestCheckpoint: number;
}

/** The first checkpoint that the node still has. */
export function lowestOf({ chain, lowestCheckpoint }: Node): number {
  return Math.max(chain.lowestCheckpoint, lowestCheckpoint);
}

/** The newest checkpoint that the node knows of. */
export function headOf(node: Node, method: string): number {
  const lag = node.faults.holding('lag', method)[0]?.checkpoints ?? 0;
  return Math.max(lowestOf(node), node.chain.head.number - lag);
}

/** A checkpoint as the node tells it. Throws GatewayError<RefusalCode>. */
export function checkpointAt(node: Node, number: number, method: string): Checkpoint {
  const checkpoint = node.chain.checkpoints.get(number);
  if (checkpoint === undefined || number < lowestOf(node) || number > headOf(node, method)) {
    return refuse('NOT_FOUND', `Checkpoint ${number} not found`);
  }
  return distort(node, checkpoint, method);
}

/** What the node makes of a checkpoint. */
export function distort({ chain, faults }: Node, checkpoint: Checkpoint, method: string): Checkpoint {
  let told = checkpoint;
  for (const { fromCheckpoint } of faults.holding('fork', method)) {
    if (told.number >= fromCheckpoint) told = forked(told, fromCheckpoint);
  }
  const hidden = faults.holding('hide-payments', method).map(({ address }) => address);
  if (hidden.length > 0)
    told = { ...told, transactions: told.transactions.filter((record) => !pays(record, hidden)) };
  for (const fault of faults.holding('invent-payment', method)) {
    if (fault.checkpoint !== told.number) continue;
    told = { ...told, transactions: [...told.transactions, inventPayment(chain, told, fault)] };
  }
  return told;
}

function pays({ outcome }: TransactionRecord, addresses: readonly string[]): boolean {
  return outcome.balanceChanges.some(({ address, amount }) => amount > 0n && addresses.includes(address));
}

function otherDigest(digest: string): string {
  return digestOf('CheckpointSummary', Buffer.from(`another ${digest}`));
}

function forked(checkpoint: Checkpoint, from: number): Checkpoint {
  const { digest, previousDigest, number } = checkpoint;
  const isFirst = number === from || previousDigest === undefined;
  return {
    ...checkpoint,
    digest: otherDigest(digest),
    previousDigest: isFirst ? previousDigest : otherDigest(previousDigest),
  };
}

/** A transaction that the node has in a checkpoint. Throws GatewayError<RefusalCode>. */
export function transactionOf(node: Node, digest: string, method: string): TransactionRecord {
  const record = node.chain.transactions.get(digest);
  const place = record?.place;
  const isHidden =
    node.faults.holding('no-transaction-index', method).length > 0 ||
    place === undefined ||
    place.checkpoint < lowestOf(node) ||
    place.checkpoint > headOf(node, method);
  if (record === undefined || isHidden) return refuse('NOT_FOUND', `Transaction ${digest} not found`);
  return record;
}
