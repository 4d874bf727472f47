import { createHash, hash } from 'node:crypto';
import { blockIdOf } from '@opentill/chain-tron/protobuf/header';
import { encodeWhole } from '@opentill/chain-tron/protobuf/whole-transaction';
import { rootOf } from '@opentill/chain-tron/prove-transactions';
import { encodeRaw, type PayingContract } from '@opentill/chain-tron/sender/transaction';
import {
  latin1,
  paidHex,
  paysDeposit,
  sha,
  timeSecondsOf,
  type CannedChain,
  type CannedPlan,
} from './plan.ts';

interface Block {
  readonly header: Buffer;
  readonly block: Buffer;
  readonly infos: Buffer;
}

interface Drawn {
  /** SHA-256 of the raw data. */
  readonly id: string;
  readonly rawHex: string;
  readonly signature: string;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
  /** Undefined for TRX. */
  readonly token: string | undefined;
}

const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** Large enough that few addresses recur in a run. */
const STRANGERS = 200_000;
const NOTHING = '0'.repeat(64);
const VALID_MS = 57_000;
const FEE_LIMIT_SUN = 100_000_000;
const SIGNATURE_HEX = 130;

const word = (hex: string): string => hex.padStart(64, '0');

interface Asked {
  readonly num?: number;
  readonly id_or_num?: string;
  readonly value?: string;
}

export function createCannedTron(plan: CannedPlan): CannedChain {
  const ours = paidHex(40);
  const strangers = Array.from({ length: STRANGERS }, (_, i) => sha(`${plan.seed} stranger ${i}`).slice(24));
  const places = new Map<string, { readonly height: number; readonly place: number }>();
  const ids: string[] = [];
  /** Computes ids in order, because each header contains its parent's id. */
  function idOf(height: number): string {
    while (ids.length <= height) ids.push(blockIdOf(headerOf(ids.length), ids.length));
    return ids[height] ?? '';
  }
  const timeOf = (height: number): number => plan.startMs + height * plan.blockTimeMs;
  const count = plan.transfersPerBlock + plan.otherTransactions;
  const witness = strangers[0] ?? '';

  function draw(height: number, place: number): Drawn {
    const drawn = createHash('sha256').update(`${plan.seed} ${height} ${place}`).digest();
    const isDeposit = paysDeposit(plan, height, place);
    const stranger = (at: number): string => strangers[drawn.readUInt32LE(at) % STRANGERS] ?? '';
    const isOfToken = place < plan.transfersPerBlock;
    const moved = {
      from: stranger(8),
      to: isDeposit ? (ours[drawn.readUInt32LE(4) % ours.length] ?? '') : stranger(4),
      amount: 1 + drawn.readUInt32LE(12),
      token: isOfToken ? plan.tokens[drawn.readUInt8(0) % plan.tokens.length] : undefined,
    };
    const raw = encodeRaw({
      refBlockBytes: idOf(height - 1).slice(12, 16),
      refBlockHash: idOf(height - 1).slice(16, 32),
      expirationMs: timeOf(height) + VALID_MS,
      contract: contractOf(moved),
      timestampMs: timeOf(height - 1),
      feeLimit: moved.token === undefined ? 0 : FEE_LIMIT_SUN,
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

  function make(height: number): Block {
    const header = headerJson(height);
    const drawn = drawAll(height);
    for (const [place, { id }] of drawn.entries()) places.set(id, { height, place });
    const transactions = drawn.map((one) => transactionJson(height, one)).join(',');
    const more = height === 0 ? '' : `,"transactions":[${transactions}]`;
    return {
      header: latin1(`{${header}}`),
      block: latin1(`{${header}${more}}`),
      infos: latin1(`[${drawn.map((one) => infoJson(height, one)).join(',')}]`),
    };
  }

  const blocks = new Map<number, Block>();
  return {
    genesisId: `0x${idOf(0).slice(-8)}`,
    contentType: 'application/json',
    facts: (height) => ({
      height,
      hash: idOf(height),
      parentHash: height === 0 ? NOTHING : idOf(height - 1),
      timeSeconds: timeSecondsOf(plan, height),
    }),
    make: (height) => void blocks.set(height, make(height)),
    forget: (height) => void blocks.delete(height),
    answer(path, body, { latest, final }, count) {
      const [, side = '', method = ''] = path.split('/');
      count(method);
      const asked = (body === '' ? {} : JSON.parse(body)) as Asked;
      const top = side === 'walletsolidity' ? final : latest;
      const at = (height: number) => (height <= top ? blocks.get(height) : undefined);
      switch (method) {
        case 'getblock':
          return [at(Number(asked.id_or_num ?? top))?.header ?? latin1('{}')];
        case 'getblockbynum':
          return [at(asked.num ?? 0)?.block ?? latin1('{}')];
        case 'gettransactioninfobyblocknum':
          return [at(asked.num ?? 0)?.infos ?? latin1('[]')];
        case 'gettransactioninfobyid': {
          const found = places.get(asked.value ?? '');
          return [latin1(found ? infoJson(found.height, draw(found.height, found.place)) : '{}')];
        }
        case 'triggerconstantcontract': {
          const decimals = word(plan.decimals.toString(16));
          return [latin1(`{"result":{"result":true},"energy_used":400,"constant_result":["${decimals}"]}`)];
        }
        default:
          throw new Error(`not canned: ${side}/${method}`);
      }
    },
  };
}

function contractOf({
  from,
  to,
  amount,
  token,
}: Pick<Drawn, 'from' | 'to' | 'amount' | 'token'>): PayingContract {
  const owner_address = `41${from}`;
  if (token === undefined)
    return { type: 'TransferContract', value: { owner_address, to_address: `41${to}`, amount } };
  const data = `a9059cbb${word(to)}${word(amount.toString(16))}`;
  return { type: 'TriggerSmartContract', value: { owner_address, contract_address: `41${token}`, data } };
}

function leafOf({ rawHex, signature }: Drawn): Buffer {
  const whole = encodeWhole({
    ret: [{ contractRet: 'SUCCESS' }],
    signature: [signature],
    raw_data_hex: rawHex,
  });
  if (whole === undefined) throw new Error('a canned transaction could not be encoded');
  return hash('sha256', whole.bytes, 'buffer');
}

/** Invalid placeholder with a signature's length. */
function filler(seed: string, digits: number): string {
  return seed.repeat(Math.ceil(digits / seed.length)).slice(0, digits);
}
