import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

/** What is not as it should be with one source. `Lack`: what its family may find missing besides. */
export interface SourceFinding<Lack extends string = never> {
  /** Label of the source. */
  readonly source: string;
  readonly kind:
    | Lack
    /** It serves another network, or other tokens, than configured. It is not used until it passes the check. */
    | 'WRONG'
    /** It could not be asked now. It is used when it comes up. */
    | 'UNREACHABLE';
  readonly error: unknown;
}

/**
 * Has every source checked. Those that are wrong (WRONG_CHAIN, TOKEN_MISMATCH) are left out when another is right, until they pass. Throws the
 * error of a wrong one when all are wrong, and of one that could not be asked when none is right: that one may be.
 */
export async function checkSources<S extends Source>(
  sources: Pick<Sources<S>, 'all' | 'exclude'>,
  check: (source: S, options: ReadOptions) => Promise<void>,
  onFinding: (finding: SourceFinding) => void,
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
