import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig, TokenConfig } from '@opentill/contracts/network-config';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';
import { baseUnits, parseAmount, type BaseUnits } from '@opentill/domain/money';
import { isEd25519PublicKey } from './ed25519-public-key.ts';
import {
  canonicalContract,
  type AllowedAddress,
  type AssetPolicy,
  type ChainPolicy,
  type Policy,
} from './policy.ts';
import type { AddressEntry, AssetEntry, ChainEntry, PolicyFile } from './policy-schema.ts';
import { invalidPolicy } from './invalid-policy.ts';
import { parseSweep } from './parse-sweep.ts';
import { readPolicyFile } from './read-policy-file.ts';

export interface PolicyContext {
  /** Their tokens give the decimals of amounts. */
  readonly networks: readonly NetworkConfig[];
  readonly codecs: readonly AddressCodec[];
}

const COOLING_HOURS = 24;
export const APPROVAL_WAIT_HOURS = 24;
/** One expired transaction may come from nodes that were down; two need an operator. */
export const MAX_ATTEMPTS_WITHOUT_DECISION = 2;
const HOUR_MS = 3_600_000;

export function parsePolicy(text: string, surroundings: PolicyContext): Policy {
  const file = readPolicyFile(text);
  const mistakes: string[] = [];
  const chains = new Map(
    Object.entries(file.chains).map(([name, entry]) => {
      const chain = name as Chain; // the schema allows no other name
      return [chain, parseChain(chain, entry, surroundings, mistakes)];
    }),
  );
  const policy: Policy = {
    chains,
    allow: parseAllow(file, surroundings, mistakes),
    deny: parseDeny(file, surroundings, mistakes),
    coolingMs: (file.coolingHours ?? COOLING_HOURS) * HOUR_MS,
    approvers: file.approvers ?? [],
    approvalsRequired: file.approvalsRequired ?? 1,
    approvalWaitMs: (file.approvalWaitHours ?? APPROVAL_WAIT_HOURS) * HOUR_MS,
    maxAttemptsWithoutDecision: file.maxAttemptsWithoutDecision ?? MAX_ATTEMPTS_WITHOUT_DECISION,
  };
  mistakes.push(...approverMistakes(policy));
  if (mistakes.length > 0) throw invalidPolicy(mistakes);
  return policy;
}

function parseChain(
  chain: Chain,
  entry: ChainEntry,
  { networks, codecs }: PolicyContext,
  mistakes: string[],
): ChainPolicy {
  const at = `/chains/${chain}`;
  const network = networks.find((candidate) => candidate.chain === chain);
  if (network === undefined) mistakes.push(`${at} is not in the network file`);
  const assets = new Map<string, AssetPolicy>();
  for (const [symbol, asset] of network === undefined ? [] : Object.entries(entry.assets)) {
    const token = network?.tokens.find((candidate) => candidate.symbol === symbol);
    if (token === undefined)
      mistakes.push(`${at}/assets/${symbol} is not a token of ${chain} in the network file`);
    else assets.set(symbol, parseAsset(chain, token, asset, mistakes));
  }
  const { coldAddress } = entry;
  const cold =
    coldAddress === undefined
      ? undefined
      : parseAddress(
          { family: familyOf(chain), address: coldAddress },
          `${at}/coldAddress`,
          codecs,
          mistakes,
        );
  const sweep =
    entry.sweep === undefined || network === undefined
      ? undefined
      : parseSweep(entry.sweep, network, cold !== undefined, mistakes);
  return { enabled: entry.enabled, coldAddress: cold, sweep, assets };
}

function parseAsset(chain: Chain, token: TokenConfig, entry: AssetEntry, mistakes: string[]): AssetPolicy {
  const at = `/chains/${chain}/assets/${token.symbol}`;
  const amountOf = (name: keyof AssetEntry, mayBeZero = false): BaseUnits => {
    const parsed = parseAmount(entry[name] ?? '', token.decimals);
    if (parsed.ok) return parsed.value;
    const isFine = parsed.problem === 'ZERO' && mayBeZero;
    if (!isFine) mistakes.push(`${at}/${name} ${describeMistake(parsed.problem, token)}`);
    return baseUnits(0n);
  };
  return {
    contract: canonicalContract(chain, token.contract),
    decimals: token.decimals,
    displayDecimals: token.displayDecimals,
    maxPerPayoutBaseUnits: amountOf('maxPerPayout'),
    maxPerHourBaseUnits: amountOf('maxPerHour'),
    maxPerDayBaseUnits: amountOf('maxPerDay'),
    maxPerMerchantPerDayBaseUnits: amountOf('maxPerMerchantPerDay'),
    approvalAboveBaseUnits: entry.approvalAbove === undefined ? undefined : amountOf('approvalAbove', true),
    floatBaseUnits: entry.float === undefined ? undefined : amountOf('float', true),
    sweepMinBaseUnits: entry.sweepMin === undefined ? undefined : amountOf('sweepMin'),
  };
}

function describeMistake(problem: 'ZERO' | 'NOT_A_NUMBER' | 'TOO_MANY_DECIMALS', token: TokenConfig): string {
  if (problem === 'ZERO') return 'must not be zero: remove the token to forbid its payouts';
  if (problem === 'TOO_MANY_DECIMALS')
    return `has more than the ${token.decimals} decimals of ${token.symbol}`;
  return 'is not an amount';
}

function parseAddress(
  { family, address }: Pick<AddressEntry, 'family' | 'address'>,
  at: string,
  codecs: readonly AddressCodec[],
  mistakes: string[],
): Address {
  const codec = codecs.find((candidate) => candidate.family === family);
  const parsed = codec?.parse(address);
  if (codec === undefined) mistakes.push(`${at}: no address codec of family ${family} is configured`);
  else if (parsed === undefined) mistakes.push(`${at} is not an address of family ${family}`);
  return parsed ?? (address as Address);
}

function parseAllow(
  file: PolicyFile,
  { codecs }: PolicyContext,
  mistakes: string[],
): ReadonlyMap<Family, ReadonlyMap<Address, AllowedAddress>> {
  const allow = new Map<Family, Map<Address, AllowedAddress>>();
  for (const [place, entry] of (file.allow ?? []).entries()) {
    const address = parseAddress(entry, `/allow/${place}/address`, codecs, mistakes);
    const addresses = allow.get(entry.family) ?? new Map<Address, AllowedAddress>();
    if (addresses.has(address)) mistakes.push(`/allow/${place} repeats an address`);
    const since = new Date(entry.since);
    // The schema's date-time format allows leap seconds, which Date does not.
    if (Number.isNaN(since.getTime())) mistakes.push(`/allow/${place}/since is not a valid time`);
    allow.set(entry.family, addresses.set(address, { since }));
  }
  return allow;
}

function parseDeny(
  file: PolicyFile,
  { codecs }: PolicyContext,
  mistakes: string[],
): ReadonlyMap<Family, ReadonlySet<Address>> {
  const deny = new Map<Family, Set<Address>>();
  for (const [place, entry] of (file.deny ?? []).entries()) {
    const address = parseAddress(entry, `/deny/${place}/address`, codecs, mistakes);
    deny.set(entry.family, (deny.get(entry.family) ?? new Set<Address>()).add(address));
  }
  return deny;
}

function approverMistakes({ approvers, approvalsRequired, chains }: Policy): string[] {
  const mistakes: string[] = [];
  for (const [place, { name, publicKey }] of approvers.entries()) {
    const before = approvers.slice(0, place);
    if (before.some((other) => other.name === name))
      mistakes.push(`/approvers/${place} repeats the name of another approver`);
    // A person with two entries would count as two approvers.
    if (before.some((other) => other.publicKey === publicKey))
      mistakes.push(`/approvers/${place} repeats the key of another approver`);
    if (!isEd25519PublicKey(publicKey))
      mistakes.push(`/approvers/${place}/publicKey is not an ed25519 public key`);
  }
  const assets = [...chains.values()].flatMap(({ assets: ofChain }) => [...ofChain.values()]);
  const isNeeded = assets.some((asset) => asset.approvalAboveBaseUnits !== undefined);
  if (isNeeded && approvers.length < approvalsRequired)
    mistakes.push(`/approvers has fewer entries than approvalsRequired, ${approvalsRequired}`);
  return mistakes;
}
