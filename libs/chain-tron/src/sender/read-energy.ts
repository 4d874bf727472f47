import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { AddressMeans, EnergyAccounts, EnergyMarket } from '@opentill/chain/energy-accounts';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { hexOf } from '../address-codec.ts';
import { countIn, isNothing, listIn, objectIn, sunIn, type Raw } from '../node-value.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { bytesOf } from './bytes-of-payment.ts';
import { BYTES_OF_ONE, least, readAccount } from './read-balances.ts';
import { readPrices } from './read-prices.ts';

const SUN_PER_TRX = 1_000_000n;
const ENERGY = 1;

export function createEnergyAccounts(
  sources: TronSources,
  onSingleSource: (source: TronSource) => void,
): EnergyAccounts {
  const both = async <T>(
    ask: (source: TronSource, options: ReadOptions) => Promise<T>,
    worse: (one: T, other: T) => T,
    options: ReadOptions,
  ): Promise<T> => {
    const [first, second] = await askTwoSources(sources, { ask, height: undefined, onSingleSource }, options);
    return second === undefined ? first.answer : worse(first.answer, second.answer);
  };
  return {
    market: (wallet, options = {}) =>
      both((source, own) => readMarket(source, wallet, own), moreExpensive, options),
    means: (address, options = {}) =>
      both((source, own) => readMeans(source, address, own), lowerMeans, options),
    delegable: (wallet, options = {}) =>
      both((source, own) => readLendable(source, wallet, own), least, options),
    lent: (from, to, options = {}) => both((source, own) => readLent(source, from, to, own), most, options),
    bytesOf: (intent) => bytesOf(intent, 0n),
  };
}

async function readMarket(source: TronSource, wallet: Address, options: ReadOptions): Promise<EnergyMarket> {
  const [prices, totals] = await Promise.all([
    readPrices(source, options),
    readResources(source, wallet, options),
  ]);
  return {
    prices: {
      perUnit: prices.energySun,
      perByte: prices.byteSun,
      activation: prices.activationSun,
      freeBytesOfNew: prices.freeBytes,
    },
    stakeYield: {
      units: sunIn(totals['TotalEnergyLimit'], 'TotalEnergyLimit'),
      // Returned in whole TRX.
      stake: sunIn(totals['TotalEnergyWeight'], 'TotalEnergyWeight') * SUN_PER_TRX,
    },
  };
}

async function readMeans(source: TronSource, address: Address, options: ReadOptions): Promise<AddressMeans> {
  const [account, resources] = await Promise.all([
    readAccount(source, address, options),
    readResources(source, address, options),
  ]);
  if (account === undefined) return { isActive: false, coinBaseUnits: 0n, workUnits: 0n, freeBytes: 0n };
  const left = (limit: string, used: string): number =>
    Math.max(0, countIn(resources[limit], limit) - countIn(resources[used], used));
  // One of the two pays for all bytes of a transaction, or coin does.
  const freeBytes = Math.max(left('NetLimit', 'NetUsed'), left('freeNetLimit', 'freeNetUsed'));
  return {
    isActive: true,
    coinBaseUnits: sunIn(account['balance'], 'balance'),
    workUnits: BigInt(left('EnergyLimit', 'EnergyUsed')),
    freeBytes: BigInt(freeBytes < BYTES_OF_ONE ? 0 : freeBytes),
  };
}

/** Stake behind used energy cannot be delegated. */
export async function readLendable(
  source: Pick<TronSource, 'call'>,
  wallet: Address,
  options: ReadOptions,
): Promise<bigint> {
  const body = { owner_address: hexOf(wallet), type: ENERGY };
  const raw = await source.call({ side: 'wallet', method: 'getcandelegatedmaxsize', body }, options);
  return sunIn(objectIn(raw, 'what can be lent')['max_size'], 'max_size');
}

export async function readLent(
  source: Pick<TronSource, 'call'>,
  from: Address,
  to: Address,
  options: ReadOptions,
): Promise<bigint> {
  const body = { fromAddress: hexOf(from), toAddress: hexOf(to) };
  const raw = await source.call({ side: 'wallet', method: 'getdelegatedresourcev2', body }, options);
  const entries = listIn(objectIn(raw, 'what is lent')['delegatedResource'], 'delegatedResource');
  return entries.reduce<bigint>((sum, entry) => {
    const { frozen_balance_for_energy: sun } = objectIn(entry, 'delegatedResource');
    return sum + sunIn(sun, 'frozen_balance_for_energy');
  }, 0n);
}

async function readResources(source: TronSource, address: Address, options: ReadOptions): Promise<Raw> {
  const call = { side: 'wallet', method: 'getaccountresource', body: { address: hexOf(address) } } as const;
  const raw = await source.call(call, options);
  return isNothing(raw) ? {} : objectIn(raw, 'account resource');
}

function moreExpensive(one: EnergyMarket, other: EnergyMarket): EnergyMarket {
  const [a, b] = [one.stakeYield, other.stakeYield];
  return {
    prices: {
      perUnit: most(one.prices.perUnit, other.prices.perUnit),
      perByte: most(one.prices.perByte, other.prices.perByte),
      activation: most(one.prices.activation, other.prices.activation),
      freeBytesOfNew: least(one.prices.freeBytesOfNew, other.prices.freeBytesOfNew),
    },
    stakeYield: a.units * b.stake <= b.units * a.stake ? a : b,
  };
}

function lowerMeans(one: AddressMeans, other: AddressMeans): AddressMeans {
  return {
    isActive: one.isActive && other.isActive,
    coinBaseUnits: least(one.coinBaseUnits, other.coinBaseUnits),
    workUnits: least(one.workUnits, other.workUnits),
    freeBytes: least(one.freeBytes, other.freeBytes),
  };
}

function most(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
