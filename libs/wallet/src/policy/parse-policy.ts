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
import { invalidPolicy } from './policy-mistakes.ts';
import { parseSweep } from './parse-sweep.ts';
import { readPolicyFile } from './read-policy-file.ts';

/** What a policy is read against. */
export interface PolicySurroundings {
  /** Its tokens say what an amount means. */
  readonly networks: readonly NetworkConfig[];
  readonly codecs: readonly AddressCodec[];
}

const COOLING_HOURS = 24;
/** For policies that say nothing of it. */
export const APPROVAL_WAIT_HOURS = 24;
/** For policies that do not set it: a transaction may expire once while nodes are down, twice is worth a look. */
export const MAX_ATTEMPTS_WITHOUT_DECISION = 2;
const HOUR_MS = 3_600_000;

/**
 * Reads a policy: schema, amounts by the decimals of the network file's tokens, addresses by their families' codecs,
 * approvers' keys as points of the curve. Throws POLICY_INVALID with all mistakes at once.
 */
export function parsePolicy(text: string, surroundings: PolicySurroundings): Policy {
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
  { networks, codecs }: PolicySurroundings,
  mistakes: string[],
): ChainPolicy {
  const at = `/chains/${chain}`;
  const network = networks.find((candidate) => candidate.chain === chain);
  if (network === undefined) mistakes.push(`${at} is not in the network file`);
  const assets = new Map<string, AssetPolicy>();
  for (const [symbol, asset] of network === undefined ? [] : Object.entries(entry.assets)) {
    const token = network?.tokens.find((candidate) => candidate.symbol === symbol);
    if (token === undefined)
      mistakes.push(`${at}/assets/${symbol} is no token of ${chain} in the network file`);
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
    if (!isFine) mistakes.push(`${at}/${name} ${whatIsWrong(parsed.problem, token)}`);
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

function whatIsWrong(problem: 'ZERO' | 'NOT_A_NUMBER' | 'TOO_MANY_DECIMALS', token: TokenConfig): string {
  if (problem === 'ZERO') return 'must not be zero: leave out what is not to be paid';
  if (problem === 'TOO_MANY_DECIMALS')
    return `has more than the ${token.decimals} decimals of ${token.symbol}`;
  return 'is not an amount';
}

/** The canonical address, or the text itself after a mistake was named. */
function parseAddress(
  { family, address }: Pick<AddressEntry, 'family' | 'address'>,
  at: string,
  codecs: readonly AddressCodec[],
  mistakes: string[],
): Address {
  const codec = codecs.find((candidate) => candidate.family === family);
  const parsed = codec?.parse(address);
  if (codec === undefined) mistakes.push(`${at}: no addresses of family ${family} are known here`);
  else if (parsed === undefined) mistakes.push(`${at} is not an address of family ${family}`);
  return parsed ?? (address as Address);
}

function parseAllow(
  file: PolicyFile,
  { codecs }: PolicySurroundings,
  mistakes: string[],
): ReadonlyMap<Family, ReadonlyMap<Address, AllowedAddress>> {
  const allow = new Map<Family, Map<Address, AllowedAddress>>();
  for (const [place, entry] of (file.allow ?? []).entries()) {
    const address = parseAddress(entry, `/allow/${place}/address`, codecs, mistakes);
    const addresses = allow.get(entry.family) ?? new Map<Address, AllowedAddress>();
    if (addresses.has(address)) mistakes.push(`/allow/${place} stands twice`);
    const since = new Date(entry.since);
    // The schema's format has leap seconds, which clocks do not show.
    if (Number.isNaN(since.getTime())) mistakes.push(`/allow/${place}/since is no moment that a clock shows`);
    allow.set(entry.family, addresses.set(address, { since }));
  }
  return allow;
}

function parseDeny(
  file: PolicyFile,
  { codecs }: PolicySurroundings,
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
    if (before.some((other) => other.name === name)) mistakes.push(`/approvers/${place} has a name twice`);
    // One person with two entries would be two approvers.
    if (before.some((other) => other.publicKey === publicKey))
      mistakes.push(`/approvers/${place} has a key twice`);
    if (!isEd25519PublicKey(publicKey))
      mistakes.push(`/approvers/${place}/publicKey is no ed25519 public key`);
  }
  const assets = [...chains.values()].flatMap(({ assets: ofChain }) => [...ofChain.values()]);
  const isNeeded = assets.some((asset) => asset.approvalAboveBaseUnits !== undefined);
  if (isNeeded && approvers.length < approvalsRequired)
    mistakes.push(`/approvers must be at least approvalsRequired, ${approvalsRequired}`);
  return mistakes;
}
