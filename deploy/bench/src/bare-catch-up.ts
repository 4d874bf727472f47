/** What the gateway's catching up is held against: nothing but fetching, parsing and decoding. */
export interface BareCatchUp {
  /** One source, or two that are asked the same at once. */
  readonly urls: readonly string[];
  readonly tokens: readonly string[];
  readonly isOurs: (address: string) => boolean;
  /** First and last height. */
  readonly from: number;
  readonly to: number;
}

const BLOCKS_PER_CALL = 20;
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

interface Log {
  readonly topics: readonly string[];
  readonly data: string;
}
interface Answer {
  readonly id: number;
  readonly result: unknown;
}

const quantity = (height: number): string => `0x${height.toString(16)}`;

/**
 * Reads blocks and their logs, 20 blocks per HTTP call, one call after another, and takes each log's recipient and
 * amount out of its words. Compares nothing, stores nothing. Gives the number of transfers to us.
 */
export async function bareCatchUp(options: BareCatchUp): Promise<number> {
  let found = 0;
  for (let first = options.from; first <= options.to; first += BLOCKS_PER_CALL) {
    const last = Math.min(options.to, first + BLOCKS_PER_CALL - 1);
    const blocks = Array.from({ length: last - first + 1 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_getBlockByNumber',
      params: [quantity(first + id), false],
    }));
    const filter = {
      fromBlock: quantity(first),
      toBlock: quantity(last),
      address: options.tokens,
      topics: [TRANSFER_TOPIC],
    };
    const logs = { jsonrpc: '2.0', id: blocks.length, method: 'eth_getLogs', params: [filter] };
    const body = JSON.stringify([...blocks, logs]);
    const read = await Promise.all(
      options.urls.map((url) => transfersTo(url, body, blocks.length, options.isOurs)),
    );
    found += read[0] ?? 0;
  }
  return found;
}

async function transfersTo(
  url: string,
  body: string,
  placeOfLogs: number,
  isOurs: (address: string) => boolean,
): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const answers = (await response.json()) as readonly Answer[];
  let found = 0;
  for (const log of (answers[placeOfLogs]?.result ?? []) as readonly Log[]) {
    const to = `0x${log.topics[2]?.slice(26) ?? ''}`;
    if (BigInt(log.data) > 0n && isOurs(to)) found += 1;
  }
  return found;
}
