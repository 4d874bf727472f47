import { createHash, hash } from 'node:crypto';
import { blockIdOf } from '@opentill/chain-tron/protobuf/header';
import { encodeRaw, type PayingContract } from '@opentill/chain-tron/protobuf/transaction';
import { encodeWhole } from '@opentill/chain-tron/protobuf/whole-transaction';
import { rootOf } from '@opentill/chain-tron/prove-transactions';
import type { CannedBlockFacts } from './canned-chain.ts';

/** A chain of TRON that is computed, not executed: the same parameters give the same blocks, in whatever process. */
export interface CannedTronPlan {
  readonly seed: string;
  /** 20 bytes of hex, as logs name contracts. */
  readonly tokens: readonly string[];
  /** In every block but block 0: calls of a token's `transfer`, each with its log. */
  readonly tokenTransfersPerBlock: number;
  /** In every block but block 0: transfers of TRX. */
  readonly trxTransfersPerBlock: number;
  /** 20 bytes of hex. The first token transfer of every so manieth block goes to one of these; no other does. */
  readonly ours: readonly string[];
  readonly blocksPerDeposit: number;
  /** Time of block 0 in milliseconds since 1970, and of each further one after it. */
  readonly startMs: number;
  readonly blockTimeMs: number;
}

/** What a node answers of a block, as JSON text. */
export interface CannedTronBlock {
  /** Without transactions. */
  readonly header: Buffer;
  readonly block: Buffer;
  readonly infos: Buffer;
}

export interface CannedTronChain {
  facts(height: number): CannedBlockFacts;
  /** The last four bytes of block 0's id. */
  readonly genesisId: string;
  make(height: number): CannedTronBlock;
  /** The JSON of a receipt; undefined for a transaction that is in no block that was made. */
  info(transactionId: string): string | undefined;
}

/** A transaction of a block. */
interface Drawn {
  /** The hash of what is said to be signed. */
  readonly id: string;
  readonly rawHex: string;
  readonly signature: string;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
  /** Undefined: TRX. */
  readonly token: string | undefined;
}

const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** So many that few of them come again soon. */
const STRANGERS = 200_000;
const NOTHING = '0'.repeat(64);
const VALID_MS = 57_000;
const FEE_LIMIT_SUN = 100_000_000n;
const SIGNATURE_HEX = 130;

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const word = (hex: string): string => hex.padStart(64, '0');

/** The 20 bytes of the deposit address of an index, in hex. */
export function cannedTronDepositHex(index: number): string {
  return sha(`deposit ${index}`).slice(24);
}

export function createCannedTronChain(plan: CannedTronPlan): CannedTronChain {
  const strangers = Array.from({ length: STRANGERS }, (_, i) => sha(`${plan.seed} stranger ${i}`).slice(24));
  const places = new Map<string, { readonly height: number; readonly place: number }>();
  const ids: string[] = [];
  /** Each has the one before in it. */
  function idOf(height: number): string {
    while (ids.length <= height) ids.push(blockIdOf(headerOf(ids.length), ids.length));
    return ids[height] ?? '';
  }
  const timeOf = (height: number): number => plan.startMs + height * plan.blockTimeMs;
  const count = plan.tokenTransfersPerBlock + plan.trxTransfersPerBlock;
  const witness = strangers[0] ?? '';

  function draw(height: number, place: number): Drawn {
    const drawn = createHash('sha256').update(`${plan.seed} ${height} ${place}`).digest();
    const isDeposit = place === 0 && height % plan.blocksPerDeposit === 0;
    const ours = plan.ours[drawn.readUInt32LE(4) % plan.ours.length];
    const stranger = (at: number): string => strangers[drawn.readUInt32LE(at) % STRANGERS] ?? '';
    const isOfToken = place < plan.tokenTransfersPerBlock;
    const moved = {
      from: stranger(8),
      to: isDeposit && ours !== undefined ? ours : stranger(4),
      amount: 1 + drawn.readUInt32LE(12),
      token: isOfToken ? plan.tokens[drawn.readUInt8(0) % plan.tokens.length] : undefined,
    };
    const raw = encodeRaw({
      refBlockBytes: Buffer.from(idOf(height - 1).slice(12, 16), 'hex'),
      refBlockHash: Buffer.from(idOf(height - 1).slice(16, 32), 'hex'),
      expirationMs: BigInt(timeOf(height) + VALID_MS),
      contract: contractOf(moved),
      timestampMs: BigInt(timeOf(height - 1)),
      feeLimit: moved.token === undefined ? 0n : FEE_LIMIT_SUN,
    });
    return {
      ...moved,
      id: hash('sha256', raw, 'hex'),
      rawHex: Buffer.from(raw).toString('hex'),
      signature: filler(drawn.toString('hex'), SIGNATURE_HEX),
    };
  }
  const drawAll = (height: number): readonly Drawn[] =>
    height === 0 ? [] : Array.from({ length: count }, (_, place) => draw(height, place));

  const roots = new Map<number, string>();
  function rootAt(height: number): string {
    const root = roots.get(height) ?? rootOf(Buffer.concat(drawAll(height).map(leafOf)));
    roots.set(height, root);
    return root;
  }

  const headerOf = (height: number): Readonly<Record<string, unknown>> => ({
    ...(height === 0 ? {} : { number: height }),
    txTrieRoot: rootAt(height),
    witness_address: `41${witness}`,
    parentHash: height === 0 ? NOTHING : (ids[height - 1] ?? ''),
    version: 32,
    timestamp: timeOf(height),
  });

  function headerJson(height: number): string {
    const id = idOf(height);
    const header = { raw_data: headerOf(height), witness_signature: filler(id, SIGNATURE_HEX) };
    return `"blockID":"${id}","block_header":${JSON.stringify(header)}`;
  }

  function transactionJson(height: number, drawn: Drawn): string {
    const { id, rawHex, signature, from, to, amount, token } = drawn;
    const [value, type] =
      token === undefined
        ? [`"amount":${amount},"owner_address":"41${from}","to_address":"41${to}"`, 'TransferContract']
        : [
            `"data":"a9059cbb${word(to)}${word(amount.toString(16))}","owner_address":"41${from}","contract_address":"41${token}"`,
            'TriggerSmartContract',
          ];
    const parent = height - 1;
    const reference = idOf(parent);
    return (
      `{"ret":[{"contractRet":"SUCCESS"}],"signature":["${signature}"],"txID":"${id}","raw_data":{"contract":` +
      `[{"parameter":{"value":{${value}},"type_url":"type.googleapis.com/protocol.${type}"},"type":"${type}"}],` +
      `"ref_block_bytes":"${reference.slice(12, 16)}","ref_block_hash":"${reference.slice(16, 32)}",` +
      `"expiration":${timeOf(height) + VALID_MS},${token === undefined ? '' : `"fee_limit":${FEE_LIMIT_SUN},`}` +
      `"timestamp":${timeOf(parent)}},"raw_data_hex":"${rawHex}"}`
    );
  }

  function infoJson(height: number, { id, from, to, amount, token }: Drawn): string {
    const begin = `{"id":"${id}","blockNumber":${height},"blockTimeStamp":${timeOf(height)},"contractResult":["`;
    if (token === undefined) return `${begin}"],"receipt":{"net_usage":268}}`;
    return (
      `{"id":"${id}","fee":6773500,"blockNumber":${height},"blockTimeStamp":${timeOf(height)},` +
      `"contractResult":["${word('')}"],"contract_address":"41${token}","receipt":{"energy_fee":6428500,` +
      `"energy_usage_total":64285,"net_fee":345000,"result":"SUCCESS","energy_penalty_total":49635},"log":` +
      `[{"address":"${token}","topics":["${TRANSFER_TOPIC}","${word(from)}","${word(to)}"],"data":"${word(amount.toString(16))}"}]}`
    );
  }

  return {
    genesisId: `0x${idOf(0).slice(-8)}`,
    facts: (height) => ({
      height,
      hash: idOf(height),
      parentHash: height === 0 ? NOTHING : idOf(height - 1),
      timeSeconds: Math.floor(timeOf(height) / 1_000),
    }),
    make(height) {
      const header = headerJson(height);
      const drawn = drawAll(height);
      for (const [place, { id }] of drawn.entries()) places.set(id, { height, place });
      const transactions = drawn.map((one) => transactionJson(height, one)).join(',');
      const more = height === 0 ? '' : `,"transactions":[${transactions}]`;
      return {
        header: Buffer.from(`{${header}}`, 'latin1'),
        block: Buffer.from(`{${header}${more}}`, 'latin1'),
        infos: Buffer.from(`[${drawn.map((one) => infoJson(height, one)).join(',')}]`, 'latin1'),
      };
    },
    info(transactionId) {
      const at = places.get(transactionId);
      return at && infoJson(at.height, draw(at.height, at.place));
    },
  };
}

function contractOf({
  from,
  to,
  amount,
  token,
}: Pick<Drawn, 'from' | 'to' | 'amount' | 'token'>): PayingContract {
  const bytes = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
  const owner = bytes(`41${from}`);
  if (token === undefined)
    return { type: 'TransferContract', owner, to: bytes(`41${to}`), amount: BigInt(amount) };
  const data = bytes(`a9059cbb${word(to)}${word(amount.toString(16))}`);
  return { type: 'TriggerSmartContract', owner, contract: bytes(`41${token}`), data };
}

/** Its place in the tree of the block's transactions. */
function leafOf({ rawHex, signature }: Drawn): Buffer {
  const whole = encodeWhole({
    ret: [{ contractRet: 'SUCCESS' }],
    signature: [signature],
    raw_data_hex: rawHex,
  });
  if (whole === undefined) throw new Error('a transaction that cannot be written');
  return hash('sha256', whole.bytes, 'buffer');
}

/** So many hex digits, the same for the same seed. */
function filler(seed: string, digits: number): string {
  return seed.repeat(Math.ceil(digits / seed.length)).slice(0, digits);
}
