/** What the gateway's catching up on TRON is held against: nothing but fetching, parsing and decoding. */
export interface BareTronCatchUp {
  /** One source, or two that are asked the same at once. */
  readonly urls: readonly string[];
  /** 20 bytes of hex. */
  readonly tokens: readonly string[];
  /** Of 20 bytes of hex. */
  readonly isOurs: (address: string) => boolean;
  /** First and last height. */
  readonly from: number;
  readonly to: number;
}

interface Block {
  readonly transactions: readonly {
    readonly ret: readonly { readonly contractRet: string }[];
    readonly raw_data: {
      readonly contract: readonly {
        readonly type: string;
        readonly parameter: { readonly value: { readonly to_address: string; readonly amount: number } };
      }[];
    };
  }[];
}
interface Info {
  readonly receipt: { readonly result?: string };
  readonly log?: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}

/** So many blocks at once, two requests each: more in flight gain nothing. */
const BLOCKS_AT_ONCE = 8;
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/**
 * Reads blocks with their receipts, and takes recipient and amount out of each Transfer log of a token and of each transfer of
 * TRX. Compares nothing, stores nothing. Gives the number of transfers to us that the first source tells of.
 */
export async function bareTronCatchUp(options: BareTronCatchUp): Promise<number> {
  const tokens = new Set(options.tokens);
  let found = 0;
  for (let first = options.from; first <= options.to; first += BLOCKS_AT_ONCE) {
    const last = Math.min(options.to, first + BLOCKS_AT_ONCE - 1);
    const heights = Array.from({ length: last - first + 1 }, (_, place) => first + place);
    const counts = await Promise.all(
      options.urls.flatMap((url, source) =>
        heights.map(async (num) => {
          const [block, infos] = await Promise.all([
            ask<Block>(url, 'getblockbynum', num),
            ask<readonly Info[]>(url, 'gettransactioninfobyblocknum', num),
          ]);
          const ours = countTokens(infos, tokens, options.isOurs) + countTrx(block, options.isOurs);
          return source === 0 ? ours : 0;
        }),
      ),
    );
    found += counts.reduce((sum, count) => sum + count, 0);
  }
  return found;
}

async function ask<T>(url: string, method: string, num: number): Promise<T> {
  const response = await fetch(`${url}/walletsolidity/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ num }),
  });
  return (await response.json()) as T;
}

function countTokens(
  infos: readonly Info[],
  tokens: ReadonlySet<string>,
  isOurs: BareTronCatchUp['isOurs'],
): number {
  let found = 0;
  for (const { receipt, log = [] } of infos) {
    if (receipt.result !== 'SUCCESS') continue;
    for (const { address, topics, data } of log)
      if (tokens.has(address) && topics[0] === TRANSFER_TOPIC)
        if (BigInt(`0x${data}`) > 0n && isOurs(topics[2]?.slice(24) ?? '')) found += 1;
  }
  return found;
}

function countTrx({ transactions }: Block, isOurs: BareTronCatchUp['isOurs']): number {
  let found = 0;
  for (const { ret, raw_data: data } of transactions) {
    const [contract] = data.contract;
    if (contract?.type !== 'TransferContract' || ret[0]?.contractRet !== 'SUCCESS') continue;
    const { to_address: to, amount } = contract.parameter.value;
    if (BigInt(amount) > 0n && isOurs(to.slice(2))) found += 1;
  }
  return found;
}
