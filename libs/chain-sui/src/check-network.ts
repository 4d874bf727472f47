import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { checkSources, type SourceDefect as FoundInSource } from '@opentill/chain-sources/check-sources';
import { lacksBalanceChanges } from './lacks-balance-changes.ts';
import { readCheckpoints } from './read-checkpoints.ts';
import type { Reading } from './reading.ts';
import type { SuiSource, SuiSources } from './sui-sources.ts';
import { readServiceHead } from './sui-sources.ts';

export type SourceLack =
  /** No coin metadata, like an archive. The coins are not checked. */
  | 'COINS_MISSING'
  /** Without another source no payment is seen. */
  | 'BALANCE_CHANGES_MISSING';

export type SourceDefect = FoundInSource<SourceLack>;

export interface NetworkCheck {
  readonly reading: Reading;
  readonly tokens: readonly { readonly coinType: TokenContract; readonly decimals: number }[];
  readonly onFinding: (finding: SourceDefect) => void;
}

const LOOKED_AT = 8;

/** Also tries the reader's calls. Throws as checkSources. */
export async function checkNetwork(
  sources: SuiSources,
  check: NetworkCheck,
  options: ReadOptions,
): Promise<void> {
  await checkSources(
    sources,
    async (source, own) => {
      await checkTokens(source, check, own);
      await tryReading(source, check, own);
    },
    check.onFinding,
    options,
  );
}

async function tryReading(source: SuiSource, check: NetworkCheck, options: ReadOptions): Promise<void> {
  const { height } = await readServiceHead(source, options);
  try {
    const range = { from: Math.max(0, height - LOOKED_AT + 1), to: height };
    await readCheckpoints(check.reading, source, range, options);
  } catch (error) {
    if (!lacksBalanceChanges(error)) throw error;
    check.onFinding({ source: source.label, kind: 'BALANCE_CHANGES_MISSING', error });
  }
}

/** With a wrong coin type or number of decimals the gateway would book wrong amounts. */
async function checkTokens(
  source: SuiSource,
  { tokens, onFinding }: NetworkCheck,
  options: ReadOptions,
): Promise<void> {
  for (const { coinType, decimals } of tokens) {
    const context = { coinType, decimals };
    try {
      const { response } = await source.ask(
        ({ state }, call) => state.getCoinInfo({ coinType }, call),
        options,
      );
      const found = response.metadata?.decimals;
      if (found !== decimals)
        throw readerError(
          'TOKEN_MISMATCH',
          `the coin ${coinType} has ${found ?? 'no'} decimals, the networks file says ${decimals}`,
          context,
        );
    } catch (error) {
      if (isReaderError(error, 'BLOCK_NOT_FOUND'))
        throw readerError('TOKEN_MISMATCH', `there is no coin ${coinType}`, context, error);
      if (!isReaderError(error, 'RPC_METHOD_MISSING')) throw error;
      onFinding({ source: source.label, kind: 'COINS_MISSING', error });
      return;
    }
  }
}
