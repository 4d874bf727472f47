import type { Chain } from '../chain/chain.ts';
import type { Checkpoint } from '../chain/checkpoint.ts';
import { refuse } from '../chain/refusal.ts';
import type { TransactionRecord } from '../chain/transaction.ts';
import { forgedCheckpoint, pays } from './forge-checkpoint.ts';
import type { SuiFaults } from './faults.ts';
import { inventPayment } from './invent-payment.ts';

export interface Node {
  readonly chain: Chain;
  readonly faults: SuiFaults;
  readonly consensusMs: number;
  lowestCheckpoint: number;
}

export function lowestOf({ chain, lowestCheckpoint }: Node): number {
  return Math.max(chain.lowestCheckpoint, lowestCheckpoint);
}

export function headOf(node: Node, method: string): number {
  const lag = node.faults.holding('lag', method)[0]?.checkpoints ?? 0;
  return Math.max(lowestOf(node), node.chain.head.number - lag);
}

/** Applies the node's faults. Throws GatewayError<RefusalCode>. */
export function checkpointAt(node: Node, number: number, method: string): Checkpoint {
  const checkpoint = node.chain.checkpoints.get(number);
  if (checkpoint === undefined || number < lowestOf(node) || number > headOf(node, method)) {
    return refuse('NOT_FOUND', `Checkpoint ${number} not found`);
  }
  return distort(node, checkpoint, method);
}

export function distort({ chain, faults }: Node, checkpoint: Checkpoint, method: string): Checkpoint {
  let reported = checkpoint;
  for (const fault of [...faults.holding('fork', method), ...faults.holding('forge-without', method)])
    reported = forgedCheckpoint(chain, reported, fault);
  if (faults.holding('no-checkpoint-bytes', method).length > 0)
    reported = { ...reported, contentsBytes: new Uint8Array(), summaryBytes: new Uint8Array() };
  const hidden = faults.holding('hide-payments', method).map(({ address }) => address);
  if (hidden.length > 0)
    reported = { ...reported, transactions: reported.transactions.filter((record) => !pays(record, hidden)) };
  for (const fault of faults.holding('invent-payment', method)) {
    if (fault.checkpoint !== reported.number) continue;
    reported = {
      ...reported,
      transactions: [...reported.transactions, inventPayment(chain, reported, fault)],
    };
  }
  return reported;
}

/** Finds a transaction whose checkpoint the node has. Throws GatewayError<RefusalCode>. */
export function transactionOf(node: Node, digest: string, method: string): TransactionRecord {
  const record = node.chain.transactions.get(digest);
  const place = record?.place;
  const isHidden =
    node.faults.holding('no-transaction-index', method).length > 0 ||
    place === undefined ||
    place.checkpoint < lowestOf(node) ||
    place.checkpoint > headOf(node, method);
  const unknownOf = node.faults.holding('forge-without', method).map(({ address }) => address);
  if (record === undefined || isHidden || pays(record, unknownOf))
    return refuse('NOT_FOUND', `Transaction ${digest} not found`);
  return record;
}
