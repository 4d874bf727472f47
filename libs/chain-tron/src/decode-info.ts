import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { addressOfShortHex } from './address-codec.ts';
import { countIn, hashIn, isNothing, listIn, malformed, objectIn, sunIn } from './node-value.ts';

/** A receipt: `gettransactioninfobyid`, or one entry of `…byblocknum`. */
export interface TronInfo {
  readonly txHash: TxHash;
  readonly height: number;
  readonly blockTimeMs: number;
  /** Total TRX burnt: energy, bandwidth, activation. */
  readonly feeSun: bigint;
  /** SUCCESS, REVERT, OUT_OF_ENERGY …; undefined for transactions without a contract call. */
  readonly contractResult: string | undefined;
  readonly failed: boolean;
  readonly logs: readonly unknown[];
}

export interface LoggedTransfer {
  readonly contract: TokenContract;
  readonly fromHex: string;
  readonly toHex: string;
  readonly amount: bigint;
}

/** By 20 bytes of hex, the form in logs. */
export type TokensByHex = ReadonlyMap<string, TokenContract>;

/** keccak256 of `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const TRANSFER_TOPICS = 3;
/** Early TRON compilers kept the prefix 41 before the 20 bytes. */
const INDEXED_ADDRESS = /^0{22}(?:00|41)[0-9a-f]{40}$/;
const ADDRESS_START = 24;
const WORD = /^[0-9a-f]{64}$/;

/** Undefined for the empty answer: the transaction is in no block of the node. */
export function decodeInfo(raw: unknown): TronInfo | undefined {
  if (isNothing(raw)) return undefined;
  const info = objectIn(raw, 'receipt');
  const run =
    info['receipt'] === undefined ? undefined : objectIn(info['receipt'], 'receipt.receipt')['result'];
  if (run !== undefined && typeof run !== 'string') return malformed('receipt.result', run);
  const { result } = info;
  if (result !== undefined && typeof result !== 'string') return malformed('result', result);
  return {
    txHash: hashIn(info['id'], 'id') as TxHash,
    height: countIn(info['blockNumber'], 'blockNumber'),
    blockTimeMs: countIn(info['blockTimeStamp'], 'blockTimeStamp'),
    feeSun: sunIn(info['fee'], 'fee'),
    contractResult: run,
    // java-tron writes the success code as `SUCESS` and omits it, as the default. Any other value is a failure.
    failed: result !== undefined && result !== 'SUCESS' && result !== 'SUCCESS',
    logs: listIn(info['log'], 'log'),
  };
}

export function decodeInfos(raw: unknown): readonly TronInfo[] {
  return listIn(raw, 'receipts of a block').map((one) => decodeInfo(one) ?? malformed('receipt', one));
}

/** Only then did the logs take effect. */
export function hasRun(info: TronInfo): boolean {
  return info.contractResult === 'SUCCESS' && !info.failed;
}

export function transferIn(raw: unknown, tokens: TokensByHex): LoggedTransfer | undefined {
  const log = objectIn(raw, 'log');
  const { address, topics, data } = log;
  if (typeof address !== 'string') return malformed('log.address', address);
  const contract = tokens.get(address);
  if (contract === undefined) return undefined;
  const [event, from, to, ...others] = listIn(topics, 'log.topics');
  if (event !== TRANSFER_TOPIC || others.length !== TRANSFER_TOPICS - 3) return undefined;
  const [fromHex, toHex] = [indexedHex(from), indexedHex(to)];
  if (fromHex === undefined || toHex === undefined) return undefined;
  if (typeof data !== 'string' || !WORD.test(data)) return undefined;
  const amount = BigInt(`0x${data}`);
  return amount === 0n ? undefined : { contract, fromHex, toHex, amount };
}

export function isBetween({ fromHex, toHex }: LoggedTransfer, from: Address, to: Address): boolean {
  return addressOfShortHex(fromHex) === from && addressOfShortHex(toHex) === to;
}

function indexedHex(topic: unknown): string | undefined {
  return typeof topic === 'string' && INDEXED_ADDRESS.test(topic) ? topic.slice(ADDRESS_START) : undefined;
}
