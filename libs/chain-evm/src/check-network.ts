import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { checkSources, type SourceDefect as FoundInSource } from '@opentill/chain-sources/check-sources';
import { blockReceiptsRequest, blockRequest, logsRequest } from './block-requests.ts';
import { checkTokens } from './check-tokens.ts';
import { decodeHeader } from './decode.ts';
import { isTooLarge, noteTooLarge } from './read-in-calls.ts';
import type { EvmSource, EvmSources } from './sources.ts';

export type SourceLack =
  /** No eth_getLogs: without another source, payments are not seen. */
  | 'LOGS_MISSING'
  /** No eth_getBlockReceipts, which decides differences: receipts are then requested one by one. */
  | 'RECEIPTS_MISSING';

export type SourceDefect = FoundInSource<SourceLack>;

export interface NetworkCheck {
  readonly tokens: readonly { readonly contract: string; readonly decimals: number }[];
  readonly onFinding: (finding: SourceDefect) => void;
  /** Also tries the methods for reading blocks. @default true */
  readonly readsBlocks?: boolean;
}

export async function checkNetwork(
  sources: EvmSources,
  check: NetworkCheck,
  options: ReadOptions,
): Promise<void> {
  await checkSources(
    sources,
    async (source, own) => {
      await checkTokens(source, check.tokens, own);
      await probeMethods(source, check, own);
    },
    check.onFinding,
    options,
  );
}

async function probeMethods(source: EvmSource, check: NetworkCheck, options: ReadOptions): Promise<void> {
  const [latest] = await source.batch([blockRequest('latest')], options);
  if (latest === null) throw readerError('BLOCK_NOT_FOUND', 'the node has no latest block');
  const head = decodeHeader(latest);
  if (check.readsBlocks === false) return;
  const unlessMissing = async (kind: SourceLack, probe: () => Promise<unknown>): Promise<void> => {
    try {
      await probe();
    } catch (error) {
      if (!isReaderError(error, 'RPC_METHOD_MISSING')) throw error;
      check.onFinding({ source: source.label, kind, error });
    }
  };
  const tokens = new Set(check.tokens.map(({ contract }) => contract));
  if (tokens.size > 0)
    await unlessMissing('LOGS_MISSING', () => probeLogRange(source, tokens, head.height, options));
  await unlessMissing('RECEIPTS_MISSING', () => source.batch([blockReceiptsRequest(head.hash)], options));
}

/** Halves the range until the provider accepts it. Ends slightly below the head: nodes behind one URL differ. */
async function probeLogRange(
  source: EvmSource,
  tokens: ReadonlySet<string>,
  headHeight: number,
  options: ReadOptions,
): Promise<void> {
  const to = Math.max(0, headHeight - 8);
  for (;;) {
    const range = { from: Math.max(0, to - source.blockRange.blocks() + 1), to };
    try {
      await source.batch([logsRequest(tokens, range.from, range.to)], options);
      return;
    } catch (error) {
      if (!isTooLarge(range, error)) throw error;
      noteTooLarge(source, range, error, to - range.from + 1);
    }
  }
}
