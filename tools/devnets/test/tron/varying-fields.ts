import { createHash } from 'node:crypto';
import { utils } from 'tronweb';
import { messageFromJson, type JsonObject } from '../../src/tron/protobuf/json.ts';
import { encodeMessage } from '../../src/tron/protobuf/wire.ts';
import type { Answers } from './recorded-scenario.ts';

// Checks fields that differ per chain and run by rules that must hold for java-tron's and our responses.

interface Transaction extends JsonObject {
  readonly txID: string;
  readonly signature?: readonly string[];
  readonly raw_data_hex: string;
  readonly raw_data: {
    readonly contract: readonly [
      { readonly parameter: { readonly value: { readonly owner_address: string } } },
    ];
    readonly ref_block_bytes: string;
    readonly ref_block_hash: string;
    readonly expiration: number;
    readonly timestamp: number;
  };
}
interface Block extends JsonObject {
  readonly blockID: string;
  readonly block_header: {
    readonly raw_data: JsonObject & {
      readonly number: number;
      readonly timestamp: number;
      readonly parentHash: string;
      readonly txTrieRoot: string;
      readonly witness_address: string;
    };
    readonly witness_signature: string;
  };
  readonly transactions?: readonly Transaction[];
}
interface Info {
  readonly id: string;
  readonly blockNumber: number;
  readonly blockTimeStamp: number;
}

const SLOT_MS = 3_000;
const VALID_MS = 60_000;
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const hexSha256 = (hex: string): string => sha256(Buffer.from(hex, 'hex')).toString('hex');
const digits = (height: number): string => height.toString(16).padStart(16, '0');
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

export function faultsIn(answers: Answers): readonly string[] {
  const faults: string[] = [];
  const infos = new Map<string, Info>();
  for (const [, value] of partsOf(answers)) if (isInfo(value)) infos.set(value.id, value);
  const mustBe = (isSo: boolean, path: string, why: string): void => {
    if (!isSo) faults.push(`${path}: ${why}`);
  };
  /** Blocks are three seconds apart, so each block time gives the time of block 0. */
  const starts = new Set<number>();
  for (const [path, value] of partsOf(answers)) {
    if (isBlock(value)) {
      checkBlock(path, value, mustBe);
      const { number, timestamp } = value.block_header.raw_data;
      starts.add(timestamp - number * SLOT_MS);
    }
    if (isTransaction(value)) checkTransaction(path, value, infos.get(value.txID), mustBe);
    if (isInfo(value)) starts.add(value.blockTimeStamp - value.blockNumber * SLOT_MS);
    if (isObject(value) && 'blockHash' in value && 'transactionHash' in value) {
      const info = infos.get(String(value['transactionHash']).slice(2));
      const height = Number(value['blockNumber']);
      mustBe(String(value['blockHash']).startsWith(`0x${digits(height)}`), path, 'a block of another height');
      mustBe(info === undefined || info.blockNumber === height, path, 'a log of another block');
    }
  }
  for (const name of Object.keys(answers).filter((one) => one.endsWith('.tx'))) {
    const [tx, info, sent] = ['tx', 'info', 'broadcast'].map(
      (part) => answers[name.replace(/tx$/, part)] as JsonObject | undefined,
    );
    mustBe(
      tx?.['txID'] === info?.['id'] && tx?.['txID'] === sent?.['txid'],
      name,
      'reported with several ids',
    );
  }
  mustBe(starts.size === 1, 'all', `times that fit ${starts.size} beginnings`);
  return faults;
}

type MustBe = (isSo: boolean, path: string, why: string) => void;

function checkTransaction(
  path: string,
  transaction: Transaction,
  info: Info | undefined,
  mustBe: MustBe,
): void {
  const { raw_data: raw, raw_data_hex: hex, txID, signature = [] } = transaction;
  const encoded = utils.transaction.txPbToRawDataHex(utils.transaction.txJsonToPb(transaction as never));
  mustBe(encoded.toLowerCase() === hex, path, 'raw_data is not what was signed');
  mustBe(hexSha256(hex) === txID, path, 'the id does not match the signed bytes');
  const owner = raw.contract[0].parameter.value.owner_address;
  for (const one of signature)
    mustBe(utils.crypto.ecRecover(txID, one).toLowerCase() === owner, path, 'not signed by its owner');
  if (info === undefined) return;
  const reference = info.blockNumber - 1;
  mustBe(raw.ref_block_bytes === digits(reference).slice(12), path, 'another reference block');
  const referenceMs = info.blockTimeStamp - SLOT_MS;
  mustBe(
    raw.expiration === referenceMs + VALID_MS,
    path,
    'it does not expire 60 s after its reference block',
  );
  const isMadeThen = raw.timestamp >= referenceMs && raw.timestamp < info.blockTimeStamp;
  mustBe(isMadeThen, path, 'made at another time');
}

function checkBlock(path: string, block: Block, mustBe: MustBe): void {
  const { raw_data: raw, witness_signature: signature } = block.block_header;
  const leaves = (block.transactions ?? []).map((one) =>
    sha256(encodeMessage('Transaction', messageFromJson('Transaction', one, false))),
  );
  for (const one of block.transactions ?? [])
    mustBe(one.raw_data.ref_block_hash === raw.parentHash.slice(16, 32), path, 'another reference block');
  mustBe(rootOf(leaves).toString('hex') === raw.txTrieRoot, path, 'the root does not match its transactions');
  const hash = sha256(encodeMessage('HeaderRaw', messageFromJson('HeaderRaw', raw, false))).toString('hex');
  mustBe(block.blockID === digits(raw.number) + hash.slice(16), path, 'the id does not match its header');
  mustBe(raw.parentHash.startsWith(digits(raw.number - 1)), path, 'a parent of another height');
  const producer = utils.crypto.ecRecover(hash, signature).toLowerCase();
  mustBe(producer === raw.witness_address, path, 'not signed by its producer');
}

function rootOf(hashes: readonly Buffer[]): Buffer {
  const [first, second] = hashes;
  if (first === undefined) return Buffer.alloc(32);
  if (second === undefined) return first;
  const parents = hashes.flatMap((left, place) => {
    const right = hashes[place + 1];
    return place % 2 === 1 ? [] : [right === undefined ? left : sha256(Buffer.concat([left, right]))];
  });
  return rootOf(parents);
}

function* partsOf(value: unknown, path = ''): Generator<readonly [path: string, value: JsonObject]> {
  if (!isObject(value)) return;
  if (path !== '') yield [path, value];
  for (const [key, inner] of Object.entries(value))
    yield* partsOf(inner, path === '' ? key : `${path}.${key}`);
}

function isTransaction(value: unknown): value is Transaction {
  return isObject(value) && 'raw_data_hex' in value && 'txID' in value;
}

function isBlock(value: unknown): value is Block {
  return isObject(value) && 'block_header' in value && 'blockID' in value;
}

function isInfo(value: unknown): value is Info {
  return isObject(value) && 'blockTimeStamp' in value && 'id' in value;
}
