import { GrpcTypes } from '@mysten/sui/grpc';
import type { Checkpoint } from '../chain/checkpoint.ts';
import { refuse } from '../chain/refusal.ts';
import { readMask } from './field-mask.ts';
import { stream, type Call, type Handlers } from './methods.ts';
import { distort, type Node } from './node.ts';
import { CHECKPOINT_DEFAULTS, showCheckpoint } from './show-checkpoint.ts';
import { readFilter } from './transaction-filter.ts';

/** Subscribers that are this far behind are dropped (CHECKPOINT_MAILBOX_SIZE). */
const MAILBOX_CHECKPOINTS = 1_024;
/** A filtered subscription without matches reports progress after this many checkpoints. */
const PROGRESS_CHECKPOINTS = 20;

export const SUBSCRIPTION_HANDLERS: Handlers = {
  SubscribeCheckpoints: stream<GrpcTypes.SubscribeCheckpointsRequest, GrpcTypes.SubscribeCheckpointsResponse>(
    async function* subscribe(node, request, call) {
      const mask = readMask(GrpcTypes.Checkpoint, request.readMask, CHECKPOINT_DEFAULTS);
      const matches = readFilter(request.filter);
      let lastSent: number | undefined;
      for await (const checkpoint of follow(node, call)) {
        const cursor = BigInt(checkpoint.number);
        if (matches === undefined || checkpoint.transactions.some(matches)) {
          lastSent = checkpoint.number;
          yield { cursor, checkpoint: showCheckpoint(node, checkpoint, mask, call.method) };
        } else if (lastSent === undefined || checkpoint.number - lastSent >= PROGRESS_CHECKPOINTS) {
          lastSent = checkpoint.number;
          yield { cursor };
        }
      }
    },
  ),
};

async function* follow(node: Node, { method, signal }: Call): AsyncGenerator<Checkpoint> {
  const waiting: Checkpoint[] = [];
  let isSilent = false;
  let next: number | undefined;
  let wake = (): void => {};
  const hear = (newest: Checkpoint): void => {
    isSilent ||= node.faults.holding('silent-streams', method).length > 0;
    if (isSilent) return;
    const lag = node.faults.holding('lag', method)[0]?.checkpoints ?? 0;
    const end = newest.number - lag;
    for (next ??= end; next <= end; next++) {
      const checkpoint = node.chain.checkpoints.get(next);
      const isSkipped = node.faults.take('skip-checkpoint', method) !== undefined;
      if (checkpoint !== undefined && !isSkipped) waiting.push(checkpoint);
    }
    wake();
  };
  const stop = (): void => wake();
  node.chain.listeners.add(hear);
  signal.addEventListener('abort', stop);
  try {
    while (!signal.aborted) {
      if (waiting.length > MAILBOX_CHECKPOINTS) refuse('UNAVAILABLE', 'the subscriber is too slow');
      const next = waiting.shift();
      if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else yield distort(node, next, method);
    }
  } finally {
    node.chain.listeners.delete(hear);
    signal.removeEventListener('abort', stop);
  }
}
