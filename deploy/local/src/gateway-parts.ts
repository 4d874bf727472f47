import { GatewayError } from '@opentill/domain/gateway-error';
import type { ExitStatus } from '@opentill/test-servers/process-group';

/*
 * Parts of a gateway, stopped in layers: services first, so that they release their leases; then chains and broker;
 * the database last.
 *
 *   event                              | result
 *   -----------------------------------|------------------------------------------------------------------
 *   a member ends unexpectedly         | `died` rejects with MEMBER_DIED; the owner stops all
 *   a member ends after stop() began   | ignored
 *   stop() while starting              | the starter awaits the current step, then stops what was added
 *   stop() again                       | returns the same promise
 *   a member fails to stop             | the others are stopped, then the first failure is thrown
 */

export type MemberErrorCode = 'MEMBER_DIED';

export interface Member {
  readonly name: string;
  readonly logFile?: string;
  readonly exited: Promise<unknown>;
  lastLogLines(count: number): string;
  stop(): Promise<void>;
}

const LAYERS = ['services', 'chains and broker', 'database'] as const;
export type Layer = (typeof LAYERS)[number];

export interface Members {
  add(layer: Layer, member: Member): void;
  /** The member may end from now on: other code stops it. */
  release(member: Member): void;
  /** Never resolves. Rejects with MEMBER_DIED. Needs no handler. */
  readonly died: Promise<never>;
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
      void member.exited.then((status) => {
        if (stopping !== undefined || !group?.has(member)) return;
        firstDeath ??= memberDied(member, status);
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

function memberDied(member: Member, status: unknown): GatewayError<MemberErrorCode> {
  const { code, signal } = (status ?? {}) as Partial<ExitStatus>;
  const how = signal ? ` by ${signal}` : code === undefined ? '' : ` with exit code ${code}`;
  const lines = member.lastLogLines(20) || '(none)';
  return new GatewayError(
    'MEMBER_DIED',
    `${member.name} ended unexpectedly${how}. Last lines of ${member.logFile ?? 'its log'}:\n${lines}`,
    {
      retryable: false,
      context: { name: member.name },
    },
  );
}
