import { createHash } from 'node:crypto';
import { blockIdOf } from '@opentill/chain-tron/protobuf/header';
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
  readonly id: string;
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
/** What stands around the fields of a call of a token and of a transfer of TRX in `raw_data_hex`, in hex digits. */
const [CALL_HEX, TRX_HEX] = [422, 270];
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
    return {
      id: drawn.toString('hex'),
      from: stranger(8),
      to: isDeposit && ours !== undefined ? ours : stranger(4),
      amount: 1 + drawn.readUInt32LE(12),
      token:
        place < plan.tokenTransfersPerBlock
          ? plan.tokens[drawn.readUInt8(0) % plan.tokens.length]
          : undefined,
    };
  }

  const headerOf = (height: number): Readonly<Record<string, unknown>> => ({
    ...(height === 0 ? {} : { number: height }),
    txTrieRoot: height === 0 ? NOTHING : sha(`${plan.seed} root ${height}`),
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

  function transactionJson(height: number, { id, from, to, amount, token }: Drawn): string {
    const [value, type, raw] =
      token === undefined
        ? [
            `"amount":${amount},"owner_address":"41${from}","to_address":"41${to}"`,
            'TransferContract',
            filler(id, TRX_HEX),
          ]
        : [
            `"data":"a9059cbb${word(to)}${word(amount.toString(16))}","owner_address":"41${from}","contract_address":"41${token}"`,
            'TriggerSmartContract',
            filler(id, CALL_HEX),
          ];
    const parent = height - 1;
    const reference = idOf(parent);
    return (
      `{"ret":[{"contractRet":"SUCCESS"}],"signature":["${filler(id, SIGNATURE_HEX)}"],"txID":"${id}","raw_data":{"contract":` +
      `[{"parameter":{"value":{${value}},"type_url":"type.googleapis.com/protocol.${type}"},"type":"${type}"}],` +
      `"ref_block_bytes":"${reference.slice(12, 16)}","ref_block_hash":"${reference.slice(16, 32)}",` +
      `"expiration":${timeOf(height) + 57_000},${token === undefined ? '' : '"fee_limit":100000000,'}` +
      `"timestamp":${timeOf(parent)}},"raw_data_hex":"${raw}"}`
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
      const drawn = height === 0 ? [] : Array.from({ length: count }, (_, place) => draw(height, place));
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

/** So many hex digits, the same for the same seed. */
function filler(seed: string, digits: number): string {
  return seed.repeat(Math.ceil(digits / seed.length)).slice(0, digits);
}
