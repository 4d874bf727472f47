import { headHeight } from '@opentill/devnets/evm/start-evm-devnet';
import { readEvmTransfers } from '@opentill/testkit/evm-transfers';
import type { NaiveScanner } from '@opentill/testkit/truth-run';

const ATTEMPTS_MAX = 50;
const BLOCKS_MAX = 50;

/** Reads logs from its cursor to the head and retries after errors. Starts above `height`. */
export function createNaiveScanner(options: {
  readonly rpcUrl: string;
  readonly tokens: readonly string[];
  readonly height: number;
  readonly isOurs: (address: string) => boolean;
}): NaiveScanner {
  const { rpcUrl, tokens, isOurs } = options;
  const credited = new Set<string>();
  let cursor = options.height;

  /** Reads fewer blocks each time, because some errors require that. */
  async function retry<T>(call: (attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await call(attempt);
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  async function readNext(head: number, attempt: number): Promise<void> {
    const to = Math.min(head, cursor + Math.max(1, BLOCKS_MAX >> attempt));
    for (const { tx, to: receiver, amount } of await readEvmTransfers(rpcUrl, tokens, {
      from: cursor + 1,
      to,
    }))
      if (amount > 0n && isOurs(receiver)) credited.add(`${tx} ${amount}`);
    cursor = to;
  }

  return {
    credited,
    async step() {
      const head = await retry(() => headHeight(rpcUrl));
      while (cursor < head) await retry((attempt) => readNext(head, attempt));
    },
  };
}
