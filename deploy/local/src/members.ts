import { GatewayError } from '@opentill/domain/gateway-error';

/*
 * What a gateway consists of, stopped in layers: services first, so that they hand back what they hold; then chains
 * and broker; the database last.
 *
 *   event                              | what happens
 *   -----------------------------------|------------------------------------------------------------------
 *   a member ends while it should run  | `died` rejects with MEMBER_DIED: its name and last log lines; the owner stops all
 *   a member ends after stop() began   | nothing: expected
 *   stop() while starting              | whoever starts awaits the step under way, then stops what was added
 *   stop() again                       | the same promise
 *   a member fails to stop             | the others are stopped all the same, then the first failure is thrown
 */

/** - `MEMBER_DIED`: a process that should run has ended; the message names it and holds its last log lines. */
export type MemberErrorCode = 'MEMBER_DIED';

/** Something that runs until it is stopped. */
export interface Member {
  readonly name: string;
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<unknown>;
  lastLogLines(count: number): string;
  stop(): Promise<void>;
}

/** Layers in the order of stopping. */
const LAYERS = ['services', 'chains and broker', 'database'] as const;
export type Layer = (typeof LAYERS)[number];

export interface Members {
  add(layer: Layer, member: Member): void;
  /** From now on the member may end without being missed: it is being stopped by somebody else. */
  release(member: Member): void;
  /** Never resolves; rejects with MEMBER_DIED. Handled already, so nobody has to wait for it. */
  readonly died: Promise<never>;
  /** What `died` was rejected with, if it was. */
  firstDeath(): GatewayError | undefined;
  stop(): Promise<void>;
}

export function createMembers(): Members {
  const layers = new Map<Layer, Set<Member>>(LAYERS.map((layer) => [layer, new Set()]));
  let stopping: Promise<void> | undefined;
  let firstDeath: GatewayError | undefined;
  let rejectDied: (error: GatewayError) => void = () => undefined;
  const died = new Promise<never>((_, reject) => (rejectDied = reject));
  died.catch(() => undefined);

  async function stopAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const layer of LAYERS) {
      const results = await Promise.allSettled(
        [...(layers.get(layer) ?? [])].map(async (member) => member.stop()),
      );
      for (const result of results) if (result.status === 'rejected') failures.push(result.reason);
    }
    if (failures.length > 0) throw failures[0];
  }

  return {
    add(layer, member) {
      const group = layers.get(layer);
      group?.add(member);
      void member.exited.then(() => {
        if (stopping !== undefined || !group?.has(member)) return;
        firstDeath ??= deathOf(member);
        rejectDied(firstDeath);
      });
    },
    release(member) {
      for (const group of layers.values()) group.delete(member);
    },
    died,
    firstDeath: () => firstDeath,
    stop: async () => (stopping ??= stopAll()),
  };
}

function deathOf(member: Member): GatewayError<MemberErrorCode> {
  return new GatewayError(
    'MEMBER_DIED',
    `${member.name} ended unexpectedly. Its last lines:\n${member.lastLogLines(20)}`,
    {
      retryable: false,
      context: { name: member.name },
    },
  );
}
