import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { askTwoSources } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

export interface BlockConfirmationDeps<S extends Source> {
  readonly sources: Sources<S>;
  readonly readHash: (source: S, height: number, options: ReadOptions) => Promise<BlockHash>;
  readonly onSingleSource: (source: S) => void;
  readonly onForked: (labels: readonly [string, string], height: number) => void;
}

export async function confirmBlockAtSources<S extends Source>(
  { sources, readHash, onSingleSource, onForked }: BlockConfirmationDeps<S>,
  { height, hash }: Pick<BlockHeader, 'height' | 'hash'>,
  options: ReadOptions,
): Promise<void> {
  if (sources.all().length === 1) return;
  const ask = (source: S, own: ReadOptions): Promise<BlockHash> => readHash(source, height, own);
  const [first, second] = await askTwoSources(sources, { ask, height, onSingleSource }, options);
  const labels = [first.source.label, second?.source.label ?? first.source.label] as const;
  if (first.answer === hash && (second === undefined || second.answer === hash)) return;
  if (second !== undefined && first.answer !== second.answer) onForked(labels, height);
  throw readerError('INCONSISTENT_ANSWER', 'sources name another block at this height', {
    outcome: 'FORKED',
    sources: labels,
    height,
    hash,
  });
}
