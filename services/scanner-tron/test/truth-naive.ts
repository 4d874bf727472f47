import { addressOfHex, addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { NaiveScanner } from '@opentill/testkit/truth-run';

interface RawTransaction {
  readonly txID: string;
  readonly raw_data: {
    readonly contract: readonly [
      {
        readonly type: string;
        readonly parameter: {
          readonly value: {
            readonly contract_address?: string;
            readonly data?: string;
            readonly to_address?: string;
            readonly amount?: number;
          };
        };
      },
    ];
  };
}
interface RawBlock {
  readonly block_header?: { readonly raw_data: { readonly number?: number } };
  readonly transactions?: readonly RawTransaction[];
}

const TRIES = 20;
const JUMP_MAX = 1_000;
const TRANSFER = 'a9059cbb';

/**
 * Reads each block up to the head, takes call data of transfers for payments, and skips a block after an empty answer.
 * Starts above `height`.
 */
export function createNaiveScanner(options: {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly height: number;
  readonly isOurs: (address: string) => boolean;
}): NaiveScanner {
  const credited = new Set<string>();
  let cursor = options.height;

  async function ask(method: string, body: object): Promise<RawBlock> {
    for (let tries = 1; ; tries += 1) {
      try {
        const response = await fetch(`${options.url}/wallet/${method}`, {
          method: 'POST',
          body: JSON.stringify(body),
        });
        if (!response.ok) throw new Error(`HTTP ${response.status}`);
        return (await response.json()) as RawBlock;
      } catch (error) {
        if (tries === TRIES) throw error;
      }
    }
  }

  function credit({ txID, raw_data: { contract } }: RawTransaction): void {
    const [{ type, parameter }] = contract;
    const { contract_address: token = '', data = '', to_address: whole = '', amount = 0 } = parameter.value;
    const isCall = type === 'TriggerSmartContract' && data.startsWith(TRANSFER);
    const isKnown = isCall && options.tokens.includes(addressOfHex(token) ?? '');
    const to = isKnown ? addressOfShortHex(data.slice(32, 72)) : addressOfHex(whole);
    if (to === undefined || !options.isOurs(to)) return;
    const value = isKnown ? BigInt(`0x${data.slice(72, 136)}`) : BigInt(amount);
    if (value > 0n) credited.add(`${txID} ${value}`);
  }

  return {
    credited,
    async step() {
      const head = (await ask('getblock', { detail: false })).block_header?.raw_data.number ?? 0;
      // Ignores a head that is thousands of blocks away.
      while (cursor < head && head - cursor < JUMP_MAX) {
        cursor += 1;
        for (const transaction of (await ask('getblockbynum', { num: cursor })).transactions ?? [])
          credit(transaction);
      }
    },
  };
}
