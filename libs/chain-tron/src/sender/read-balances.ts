import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TokenContract } from '@opentill/chain/transfer';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { askOneOrTwo } from '@opentill/chain-sources/ask-one-or-two';
import { selectQuorum } from '@opentill/chain-sources/select-quorum';
import { hexOf, shortHexOf } from '../address-codec.ts';
import { inBatches } from '../confirm-transfers.ts';
import { plainHeader } from '../decode-block.ts';
import { countIn, isNothing, malformed, objectIn, sunIn, type Raw } from '../node-value.ts';
import type { Side } from '../tron-client.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';
import { callConstant } from './call-constant.ts';
import { readPrices } from './read-prices.ts';

const BALANCE_SELECTOR = '70a08231';
const WORD = /^[0-9a-f]{64}$/;
/** Bandwidth from stake pays for all bytes of a transaction or none, so a small rest may be useless. */
const BYTES_LEFT_OVER = 400;
/** Upper bound of any transaction that is signed here, in bytes. The daily free bandwidth counts in multiples of it. */
export const BYTES_OF_ONE = 350;

interface Balances {
  readonly block: BlockHeader;
  readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
  readonly allowanceBaseUnits: bigint;
}

/**
 * The head is read first, so the balances are not older, unless nodes behind one URL differ. The lower of two sources'
 * balances counts: with an overstated one the gateway would sign payments that fail and cost a fee.
 */
export async function readBalances(
  sources: TronSources,
  wallet: Address,
  contracts: readonly (TokenContract | null)[],
  onSingleSource: (source: TronSource) => void,
  options: ReadOptions,
): Promise<Balances> {
  const ask = async (source: TronSource): Promise<SourceAnswer<TronSource, Balances>> => ({
    source,
    answer: await readFrom(source, wallet, contracts, options),
  });
  const answers = await askOneOrTwo(sources, ask, options);
  return selectQuorum(sources, answers, onSingleSource).reduce(lowerBalances);
}

function lowerBalances(one: Balances, other: Balances): Balances {
  return {
    block: one.block.height < other.block.height ? one.block : other.block,
    amounts: new Map(
      [...one.amounts].map(([contract, amount]) => [
        contract,
        least(amount, other.amounts.get(contract) ?? 0n),
      ]),
    ),
    allowanceBaseUnits: least(one.allowanceBaseUnits, other.allowanceBaseUnits),
  };
}

export function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

async function readFrom(
  source: TronSource,
  wallet: Address,
  contracts: readonly (TokenContract | null)[],
  options: ReadOptions,
): Promise<Balances> {
  const block = plainHeader(await readHeader(source, options));
  const amounts = await inBatches(contracts, (contract) =>
    contract === null ? readSun(source, wallet, options) : readToken(source, wallet, contract, options),
  );
  return { block, amounts, allowanceBaseUnits: await readAllowance(source, wallet, options) };
}

async function readSun(source: TronSource, wallet: Address, options: ReadOptions): Promise<bigint> {
  const account = await readAccount(source, wallet, options);
  return account === undefined ? 0n : sunIn(account['balance'], 'balance');
}

/** Undefined for an address that is not active. */
export async function readAccount(
  source: Pick<TronSource, 'call'>,
  address: Address,
  options: ReadOptions,
  side: Side = 'wallet',
): Promise<Raw | undefined> {
  const body = { address: hexOf(address) };
  const raw = await source.call({ side, method: 'getaccount', body }, options);
  if (isNothing(raw)) return undefined;
  const account = objectIn(raw, 'account');
  return account['address'] === hexOf(address) ? account : malformed('account.address', account['address']);
}

async function readToken(
  source: TronSource,
  wallet: Address,
  contract: TokenContract,
  options: ReadOptions,
): Promise<bigint> {
  const data = BALANCE_SELECTOR + shortHexOf(wallet).padStart(64, '0');
  const { words } = await callConstant(source, { from: wallet, contract, data }, options);
  const [word] = words;
  return word !== undefined && WORD.test(word) ? BigInt(`0x${word}`) : malformed('balanceOf', word);
}

/** The part that stake, delegated energy and free daily bandwidth pay, in sun. */
async function readAllowance(source: TronSource, wallet: Address, options: ReadOptions): Promise<bigint> {
  const body = { address: hexOf(wallet) };
  const [raw, prices] = await Promise.all([
    source.call({ side: 'wallet', method: 'getaccountresource', body }, options),
    readPrices(source, options),
  ]);
  const resource = objectIn(raw, 'account resource');
  const left = (limit: string, used: string): number =>
    Math.max(0, countIn(resource[limit], limit) - countIn(resource[used], used));
  const energy = left('EnergyLimit', 'EnergyUsed');
  const staked = Math.max(0, left('NetLimit', 'NetUsed') - BYTES_LEFT_OVER);
  const free = Math.floor(left('freeNetLimit', 'freeNetUsed') / BYTES_OF_ONE) * BYTES_OF_ONE;
  const bytes = staked + free;
  return BigInt(energy) * prices.energySun + BigInt(bytes) * prices.byteSun;
}
