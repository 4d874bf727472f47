import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTronDevnet, type TronDevnet } from '../../src/tron/start-tron-devnet.ts';
import { faultsIn } from './varying-fields.ts';
import { playRecorded, type Played, RECORDED } from './recorded-scenario.ts';

let devnet: TronDevnet;
let played: Played;
beforeAll(async () => {
  // The recorded private chain had no stake.
  devnet = await startTronDevnet({ blockTimeMs: 0, stakedTrx: [0n, 0n] });
  await devnet.control.mine(10);
  played = await playRecorded(devnet);
});
afterAll(async () => devnet.close());

/** Fields that differ per chain or run. Compared by type here, and checked by varying-fields.ts. */
const VARYING: readonly string[] = [
  'blockID',
  'parentHash',
  'number',
  'timestamp',
  'txTrieRoot',
  'witness_address',
  'witness_signature',
  'id',
  'txid',
  'txID',
  'signature',
  'raw_data_hex',
  'ref_block_bytes',
  'ref_block_hash',
  'expiration',
  'blockNumber',
  'blockTimeStamp',
  'blockHash',
  'transactionHash',
  'create_time',
  'latest_opration_time',
  'latest_consume_free_time',
  'latest_consume_time_for_energy',
  'hash',
];
const VARYING_ANSWERS = ['rpc.blockNumber', 'rpc.chainId', 'rpc.finalized'];

/** Accepted differences: response, path in it, reason. */
const KNOWN_DIFFERENCES: readonly (readonly [answer: RegExp, path: RegExp, why: string])[] = [
  [
    /^deploy\.Tether04\.info$/,
    /\.(fee|energy_fee|energy_usage_total)$/,
    'a constructor that writes zero before something else pays for a new slot: 15 000 energy too much',
  ],
  [/^contractinfo$/, /\.energy_usage$/, 'counted once per transaction; java-tron counted more'],
  [/^contractinfo$/, /\.update_cycle$/, 'cycles are counted from 1, so that a factor set at once lasts'],
];
const NOT_ASKED: Readonly<Record<string, string>> = {
  final: 'head and solidified height of the recording: 19 apart, where the devnet keeps a set distance',
  'rpc.range': 'the logs of rpc.logs once more',
};

test('every listed difference still exists', () => {
  const found = new Set<number>();
  for (const name of Object.keys(RECORDED)) {
    const differences: string[] = [];
    compare(name, '', played.recorded[name], played.answers[name], differences, found);
  }
  expect([...found].toSorted((a, b) => a - b)).toEqual(KNOWN_DIFFERENCES.map((_known, index) => index));
});

test('returns every recorded response', () => {
  const differences: string[] = [];
  for (const name of Object.keys(RECORDED)) {
    if (name in played.answers) {
      compare(name, '', played.recorded[name], played.answers[name], differences);
    } else {
      if (!(name in NOT_ASKED)) differences.push(`${name} was not asked`);
    }
  }
  expect(differences).toEqual([]);
});

test("fields that vary per chain follow the protocol's rules, recorded and own", () => {
  expect(faultsIn(RECORDED)).toEqual([]);
  expect(faultsIn(played.own)).toEqual([]);
  const spoilt = structuredClone(played.own) as Record<string, never>;
  const { transactions, block_header: header } = spoilt['block']! as {
    transactions: { raw_data: { expiration: number } }[];
    block_header: { raw_data: { txTrieRoot: string } };
  };
  transactions[0]!.raw_data.expiration += 1;
  header.raw_data.txTrieRoot = 'ab'.repeat(32);
  expect(faultsIn(spoilt)).toEqual([
    'block: the root does not match its transactions',
    'block: the id does not match its header',
    'block: not signed by its producer',
    'block.transactions.0: raw_data is not what was signed',
    'block.transactions.0: it does not expire 60 s after its reference block',
  ]);
});

function compare(
  name: string,
  path: string,
  recorded: unknown,
  own: unknown,
  differences: string[],
  found = new Set<number>(),
): void {
  const key = path.split('.').at(-1) ?? '';
  if (VARYING.includes(key) || VARYING_ANSWERS.includes(name)) {
    if (typeof recorded !== typeof own) differences.push(`${name}${path}: a ${typeof own}`);
    return;
  }
  if (isObject(recorded) && isObject(own)) {
    for (const inner of new Set([...Object.keys(recorded), ...Object.keys(own)])) {
      compare(name, `${path}.${inner}`, recorded[inner], own[inner], differences, found);
    }
    return;
  }
  if (recorded === own) return;
  const known = KNOWN_DIFFERENCES.findIndex(([answer, where]) => answer.test(name) && where.test(path));
  if (known >= 0) {
    found.add(known);
    return;
  }
  const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 120) ?? 'nothing';
  differences.push(`${name}${path}: recorded ${show(recorded)}, own ${show(own)}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
