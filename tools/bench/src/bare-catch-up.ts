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

interface Receipt {
  readonly logs: readonly Log[];
}

/**
 * Reads blocks and their logs, 20 blocks per HTTP call, one call after another, and takes each log's recipient and
 * amount out of its words. Compares nothing, stores nothing. Gives the number of transfers to us.
 */
export async function bareCatchUp(options: BareCatchUp): Promise<number> {
  let found = 0;
  for (const heights of partsOf(options)) {
    const filter = {
      fromBlock: quantity(heights[0] ?? 0),
      toBlock: quantity(heights.at(-1) ?? 0),
      address: options.tokens,
      topics: [TRANSFER_TOPIC],
    };
    const body = batchOf([...heights.map(blockCall), { method: 'eth_getLogs', params: [filter] }]);
    const read = await Promise.all(
      options.urls.map(async (url) => {
        const answers = await ask(url, body);
        return countOurs((answers[heights.length]?.result ?? []) as readonly Log[], options);
      }),
    );
    found += read[0] ?? 0;
  }
  return found;
}

/** The same by the receipts of every block, as one who has a single source and believes no logs must read. */
export async function bareCatchUpByReceipts(options: BareCatchUp): Promise<number> {
  let found = 0;
  for (const heights of partsOf(options)) {
    const receipts = heights.map((height) => ({
      method: 'eth_getBlockReceipts',
      params: [quantity(height)],
    }));
    const answers = await ask(options.urls[0] ?? '', batchOf([...heights.map(blockCall), ...receipts]));
    for (const { result } of answers.slice(heights.length))
      for (const { logs } of result as readonly Receipt[]) found += countOurs(logs, options);
  }
  return found;
}

function* partsOf({ from, to }: BareCatchUp): Generator<readonly number[]> {
  for (let first = from; first <= to; first += BLOCKS_PER_CALL) {
    const count = Math.min(to, first + BLOCKS_PER_CALL - 1) - first + 1;
    yield Array.from({ length: count }, (_, place) => first + place);
  }
}

interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

const blockCall = (height: number): Call => ({
  method: 'eth_getBlockByNumber',
  params: [quantity(height), false],
});

const batchOf = (calls: readonly Call[]): string =>
  JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })));

async function ask(url: string, body: string): Promise<readonly Answer[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return (await response.json()) as readonly Answer[];
}

function countOurs(logs: readonly Log[], { isOurs }: BareCatchUp): number {
  let found = 0;
  for (const log of logs) {
    const to = `0x${log.topics[2]?.slice(26) ?? ''}`;
    if (BigInt(log.data) > 0n && isOurs(to)) found += 1;
  }
  return found;
}
