import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { askAgain } from './ask-again.ts';
import { mayBeBetterElsewhere } from './may-be-better-elsewhere.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

/** What a source answered. */
export interface Said<S extends Source, T> {
  readonly source: S;
  readonly answer: T;
}

export interface TwoSourcesQuestion<S extends Source, T> {
  readonly ask: (source: S, options: ReadOptions) => Promise<T>;
  /** The highest block that the question is about; undefined when it is about none in particular. */
  readonly height: number | undefined;
  /** Told when one source of several is believed alone. */
  readonly onAlone: (source: S) => void;
  /** One alone is believed only where no other is configured. @default false */
  readonly neverAlone?: boolean | undefined;
}

/**
 * Asks two sources the same, and others in the place of those that fail. One answer alone is given only where it may
 * stand alone; otherwise throws why there is no second: the caller waits.
 */
export async function askTwoSources<S extends Source, T>(
  sources: Sources<S>,
  { ask, height, onAlone, neverAlone = false }: TwoSourcesQuestion<S, T>,
  options: ReadOptions,
): Promise<readonly [Said<S, T>, Said<S, T> | undefined]> {
  const mayStandAlone = (source: S): boolean =>
    neverAlone ? sources.all().length === 1 : sources.mayStandAlone(source);
  const said: Said<S, T>[] = [];
  const failures = new Map<S, unknown>();
  for (;;) {
    const [first, second] = said;
    if (first !== undefined && second !== undefined) return [first, second];
    const asked = nextOf(sources, first?.source, failures);
    const [only] = asked;
    if (first !== undefined && only === undefined) {
      if (!mayStandAlone(first.source)) throw secondMissing(sources, failures);
      if (sources.all().length > 1) onAlone(first.source);
      return [first, undefined];
    }
    if (only === undefined) throw [...failures.values()][0];
    if (first === undefined && asked.length === 1 && !mayStandAlone(only))
      throw secondMissing(sources, failures);
    const answers = await Promise.allSettled(
      asked.map((source) => askAgain(() => ask(source, options), options)),
    );
    for (const [place, source] of asked.entries()) {
      const answer = answers[place];
      if (answer?.status === 'fulfilled') said.push({ source, answer: answer.value });
      else failures.set(source, await noteRefusal(sources, source, answer?.reason, height, options));
    }
  }
}

/** Two to ask, or the one beside `first`; of different hosts where there is a choice. */
function nextOf<S extends Source>(
  sources: Sources<S>,
  first: S | undefined,
  failures: ReadonlyMap<S, unknown>,
): readonly S[] {
  const left = sources.witnesses().filter((source) => source !== first && !failures.has(source));
  if (first !== undefined) return pairOf([first, ...left]).slice(1);
  return pairOf(left);
}

/** The first, and the next of another host if there is one: two accounts at one provider see the same mistakes. */
export function pairOf<S extends Source>(sources: readonly S[]): readonly S[] {
  const [first, ...others] = sources;
  if (first === undefined) return [];
  const second = others.find((other) => hostOf(other) !== hostOf(first)) ?? others[0];
  return second === undefined ? [first] : [first, second];
}

function hostOf({ label }: Source): string {
  return label.replace(/:\d+$/, '');
}

/** Takes a failure down against the source, and throws it when another one would have it as well. */
export async function noteRefusal<S extends Source>(
  sources: Sources<S>,
  source: S,
  error: unknown,
  height: number | undefined,
  options: ReadOptions,
): Promise<unknown> {
  if (options.signal?.aborted === true || !mayBeBetterElsewhere(error)) throw error;
  sources.noteFault(source, error);
  if (height !== undefined && isReaderError(error, 'BLOCK_NOT_FOUND') && sources.all().length > 1)
    await noteWhyLacking(sources, source, height, options);
  return error;
}

/**
 * A source that lacks a block is behind, or has discarded it, or the block does not exist. Its head tells: only one
 * that is old by the clock, or above the block, speaks against the source.
 */
async function noteWhyLacking<S extends Source>(
  sources: Sources<S>,
  source: S,
  height: number,
  options: ReadOptions,
): Promise<void> {
  try {
    const head = await sources.readHead(source, options);
    if (head.height > height) sources.noteCompleteness(source, false);
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    sources.noteFault(source, error);
  }
}

/** Why the word of the one source that answers is not enough yet. */
export function secondMissing<S extends Source>(
  sources: Pick<Sources<S>, 'againInMs'>,
  failures: ReadonlyMap<S, unknown>,
): GatewayError {
  const known = [...failures.values()].filter((error) => error instanceof GatewayError);
  const telling = known.find(({ code }) => code === 'BLOCK_NOT_FOUND' || code === 'FINALITY_UNAVAILABLE');
  const best = telling ?? known.find(({ retryable }) => retryable);
  if (best !== undefined) return best;
  const retryAfterMs = sources.againInMs();
  return readerError(
    'RPC_UNAVAILABLE',
    'one source alone is not believed, and no second one can be asked now',
    retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(retryAfterMs) },
    known[0],
  );
}
