import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

/** `Lack`: additional kinds of the family. */
export interface SourceDefect<Lack extends string = never> {
  readonly source: string;
  readonly kind:
    | Lack
    /** Serves another network, or other tokens, than configured. Not used until it passes the check. */
    | 'WRONG'
    /** Used as soon as it answers. */
    | 'UNREACHABLE';
  readonly error: unknown;
}

/**
 * Wrong sources (WRONG_CHAIN, TOKEN_MISMATCH) are excluded until they pass, if another one is right. If none is right,
 * throws the error of one that could not be asked (it may be right), else that of a wrong one.
 */
export async function checkSources<S extends Source>(
  sources: Pick<Sources<S>, 'all' | 'exclude'>,
  check: (source: S, options: ReadOptions) => Promise<void>,
  onFinding: (finding: SourceDefect) => void,
  options: ReadOptions,
): Promise<void> {
  const checks = await Promise.all(
    sources.all().map(async (source) => {
      try {
        await check(source, options);
        return { source, error: undefined };
      } catch (error) {
        if (options.signal?.aborted === true) throw error;
        return { source, error };
      }
    }),
  );
  const failed = checks.filter(({ error }) => error !== undefined);
  for (const { source, error } of failed)
    onFinding({ source: source.label, kind: isWrong(error) ? 'WRONG' : 'UNREACHABLE', error });
  if (failed.length === checks.length)
    throw (failed.find(({ error }) => !isWrong(error)) ?? failed[0])?.error;
  for (const { source, error } of failed)
    if (isWrong(error)) sources.exclude(source, error, () => check(source, {}));
}

function isWrong(error: unknown): boolean {
  return isReaderError(error, 'WRONG_CHAIN') || isReaderError(error, 'TOKEN_MISMATCH');
}
