import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { askAgain } from './ask-again.ts';
import { isFailoverError } from './is-failover-error.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

export interface SourceAnswer<S extends Source, T> {
  readonly source: S;
  readonly answer: T;
}

export interface TwoSourcesQuestion<S extends Source, T> {
  readonly ask: (source: S, options: ReadOptions) => Promise<T>;
  /** The highest block that the question concerns. */
  readonly height: number | undefined;
  readonly onSingleSource: (source: S) => void;
  /** Accepts a single source only where no other is configured. @default false */
  readonly requireTwoSources?: boolean | undefined;
}

/** Replaces sources that fail. Returns a single answer only where `acceptsSingle` permits it. */
export async function askTwoSources<S extends Source, T>(
  sources: Sources<S>,
  { ask, height, onSingleSource, requireTwoSources = false }: TwoSourcesQuestion<S, T>,
  options: ReadOptions,
): Promise<readonly [SourceAnswer<S, T>, SourceAnswer<S, T> | undefined]> {
  const acceptsSingle = (source: S): boolean =>
    requireTwoSources ? sources.all().length === 1 : sources.acceptsSingle(source);
  const received: SourceAnswer<S, T>[] = [];
  const failures = new Map<S, unknown>();
  for (;;) {
    const [first, second] = received;
    if (first !== undefined && second !== undefined) return [first, second];
    const asked = nextOf(sources, first?.source, failures);
    const [only] = asked;
    if (first !== undefined && only === undefined) {
      if (!acceptsSingle(first.source)) throw noSecondSource(sources, failures);
      if (sources.all().length > 1) onSingleSource(first.source);
      return [first, undefined];
    }
    if (only === undefined) throw [...failures.values()][0];
    if (first === undefined && asked.length === 1 && !acceptsSingle(only))
      throw noSecondSource(sources, failures);
    const answers = await Promise.allSettled(
      asked.map((source) => askAgain(() => ask(source, options), options)),
    );
    for (const [place, source] of asked.entries()) {
      const answer = answers[place];
      if (answer?.status === 'fulfilled') received.push({ source, answer: answer.value });
      else failures.set(source, await noteRefusal(sources, source, answer?.reason, height, options));
    }
  }
}

function nextOf<S extends Source>(
  sources: Sources<S>,
  first: S | undefined,
  failures: ReadonlyMap<S, unknown>,
): readonly S[] {
  const left = sources.quorumSources().filter((source) => source !== first && !failures.has(source));
  if (first !== undefined) return pairOf([first, ...left]).slice(1);
  return pairOf(left);
}

/** Prefers different hosts: two accounts at one provider share its errors. */
export function pairOf<S extends Source>(sources: readonly S[]): readonly S[] {
  const [first, ...others] = sources;
  if (first === undefined) return [];
  const second = others.find((other) => hostOf(other) !== hostOf(first)) ?? others[0];
  return second === undefined ? [first] : [first, second];
}

function hostOf({ label }: Source): string {
  return label.replace(/:\d+$/, '');
}

/** Throws a failure that every other source would share. */
export async function noteRefusal<S extends Source>(
  sources: Sources<S>,
  source: S,
  error: unknown,
  height: number | undefined,
  options: ReadOptions,
): Promise<unknown> {
  if (options.signal?.aborted === true || !isFailoverError(error)) throw error;
  sources.noteFault(source, error);
  if (height !== undefined && isReaderError(error, 'BLOCK_NOT_FOUND') && sources.all().length > 1)
    await noteWhyLacking(sources, source, height, options);
  return error;
}

/**
 * A source without a block lags, or has pruned it, or the block does not exist. The source is at fault only if its head
 * is old by the clock, or above the block.
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

export function noSecondSource<S extends Source>(
  sources: Pick<Sources<S>, 'retryInMs'>,
  failures: ReadonlyMap<S, unknown>,
): GatewayError {
  const known = [...failures.values()].filter((error) => error instanceof GatewayError);
  const aboutChain = known.find(({ code }) => code === 'BLOCK_NOT_FOUND' || code === 'FINALITY_UNAVAILABLE');
  const best = aboutChain ?? known.find(({ retryable }) => retryable);
  if (best !== undefined) return best;
  const retryAfterMs = sources.retryInMs();
  return readerError(
    'RPC_UNAVAILABLE',
    'two sources must agree, and no second one can be asked now',
    retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(retryAfterMs) },
    known[0],
  );
}
