import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { TokenContract } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { addressOfShortHex } from './address-codec.ts';
import type { Reading } from './reading.ts';
import { callConstant } from './sender/call-constant.ts';
import type { TronSource, TronSources } from './tron-sources.ts';

/** Tether's contract has these functions, some others too. Without the function the call fails, which is no warning. */
const PAUSED_SELECTOR = '5c975abb'; // paused()
const DEPRECATED_SELECTOR = '0e136b19'; // deprecated()
const UPGRADED_SELECTOR = '26976e3f'; // upgradedAddress()
const WORD = /^[0-9a-f]{64}$/;
const ADDRESS_WORD = /^0{24}([0-9a-f]{40})$/;
const TRUE_WORD = '1'.padStart(64, '0');
const CALLER = addressOfShortHex('0'.repeat(40)) as Address;

export async function readTokenWarnings(
  { tokens, onSingleSource }: Pick<Reading, 'tokens' | 'onSingleSource'>,
  sources: TronSources,
  options: ReadOptions,
): Promise<readonly TokenWarning[]> {
  const ask = async (source: TronSource, own: ReadOptions): Promise<readonly TokenWarning[]> => {
    const warnings: TokenWarning[] = [];
    for (const contract of tokens.values()) warnings.push(...(await warningsOf(source, contract, own)));
    return warnings;
  };
  const answers = await askTwoSources(sources, { ask, height: undefined, onSingleSource }, options);
  const [first, second] = answers.map((one) => one?.answer);
  return (first ?? []).filter((one) => second === undefined || second.some((other) => isSame(one, other)));
}

async function warningsOf(
  source: TronSource,
  contract: TokenContract,
  options: ReadOptions,
): Promise<readonly TokenWarning[]> {
  const ask = async (data: string): Promise<string | undefined> => {
    const { words, failure } = await callConstant(source, { from: CALLER, contract, data }, options);
    return failure === undefined && WORD.test(words[0] ?? '') ? words[0] : undefined;
  };
  const warnings: TokenWarning[] = [];
  if ((await ask(PAUSED_SELECTOR)) === TRUE_WORD) warnings.push({ kind: 'PAUSED', contract });
  if ((await ask(DEPRECATED_SELECTOR)) !== TRUE_WORD) return warnings;
  const by = ADDRESS_WORD.exec((await ask(UPGRADED_SELECTOR)) ?? '')?.[1];
  return [
    ...warnings,
    { kind: 'REPLACED', contract, by: by === undefined ? undefined : addressOfShortHex(by) },
  ];
}

function isSame(a: TokenWarning, b: TokenWarning): boolean {
  const byOf = (one: TokenWarning): Address | undefined => (one.kind === 'REPLACED' ? one.by : undefined);
  return a.kind === b.kind && a.contract === b.contract && byOf(a) === byOf(b);
}
