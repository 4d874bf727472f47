import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { hostOf, urlPerHost } from '@opentill/contracts/server-url';
import { GatewayError } from '@opentill/domain/gateway-error';
import { translateDatabaseError } from './database-error.ts';
import {
  createServerHistory,
  readServerState,
  unavailable,
  type ServerHistory,
  type ServerState,
} from './server-state.ts';

export interface FindOptions {
  /** One per host. */
  readonly urls: readonly string[];
  readonly applicationName: string;
  /** For the search, and for each answer. */
  readonly limitMs: number;
  readonly history: ServerHistory;
}

/** The last answer of each host. */
type Answers = ReadonlyMap<string, ServerState | Error>;

export interface Primary {
  readonly url: string;
  readonly state: ServerState;
  /** Other hosts that accept writes, and why this process does not use them. */
  readonly conflicts: readonly string[];
}

/** After the first primary answers, the others have this time, so that a second one is noticed. */
const OTHERS_MS = 500;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;

/**
 * Asks all hosts at once, again and again, until one is a primary that may be used. A host that does not answer delays
 * the others by at most 0.5 s. @throws GatewayError DATABASE_UNAVAILABLE with every host's reason; DATABASE_FORBIDDEN if
 * all hosts reject the user
 */
export async function findPrimary({
  urls,
  applicationName,
  limitMs,
  history,
}: FindOptions): Promise<Primary> {
  const answers = new Map<string, ServerState | Error>();
  const settled = Promise.withResolvers<void>();
  const timers = [setTimeout(settled.resolve, limitMs)];
  const ended = new AbortController();
  const onAnswer = (url: string, answer: ServerState | Error): void => {
    answers.set(url, answer);
    const all = [...answers.values()];
    const isFound = all.some((one) => !(one instanceof Error) && history.refusalOf(one) === undefined);
    const isHopeless = all.length === urls.length && all.every(isRefusedUser);
    if ((isFound && all.length === urls.length) || isHopeless) settled.resolve();
    else if (isFound) timers.push(setTimeout(settled.resolve, OTHERS_MS));
  };
  for (const url of urls) void askRepeatedly(url, applicationName, limitMs, onAnswer, ended.signal);
  await settled.promise;
  ended.abort();
  for (const timer of timers) clearTimeout(timer);
  return choosePrimary(urls, answers, history);
}

async function askRepeatedly(
  url: string,
  applicationName: string,
  limitMs: number,
  onAnswer: (url: string, answer: ServerState | Error) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
    const answer = await askServer(url, applicationName, limitMs).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    );
    if (signal.aborted) return;
    onAnswer(url, answer);
    // Processes that lost the same server do not ask in step.
    await delay(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
  }
}

/** By a new connection, which it closes. */
export async function askServer(url: string, applicationName: string, limitMs: number): Promise<ServerState> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  });
  client.on('error', () => undefined); // the running query rejects
  try {
    await client.connect();
    return await readServerState(client);
  } finally {
    void client.end().catch(() => undefined);
  }
}

/** Prefers the newer timeline. Refuses two primaries whose timelines do not order them. Exported for its tests. */
export function choosePrimary(urls: readonly string[], answers: Answers, history: ServerHistory): Primary {
  const usable: { readonly url: string; readonly state: ServerState }[] = [];
  const reasons: string[] = [];
  const conflicts: string[] = [];
  for (const url of urls) {
    const answer = answers.get(url) ?? new Error('no answer');
    const refusal = answer instanceof Error ? answer.message : history.refusalOf(answer);
    if (refusal === undefined) usable.push({ url, state: answer as ServerState });
    else reasons.push(`${hostOf(url)}: ${refusal}`);
    if (!(answer instanceof Error) && answer.writable && refusal !== undefined)
      conflicts.push(`${hostOf(url)}: ${refusal}`);
  }
  const [best] = usable.toSorted((a, b) => (b.state.timeline ?? 0) - (a.state.timeline ?? 0));
  if (best === undefined) {
    const refused = [...answers.values()];
    if (refused.length === urls.length && refused.every(isRefusedUser))
      throw translateDatabaseError(refused[0]);
    throw unavailable(
      `no host of the database URL accepts writes: ${reasons.join('; ')}`,
      lastError(answers),
    );
  }
  for (const { url, state } of usable) {
    if (state.startedAt === best.state.startedAt) continue;
    const both = `${hostOf(best.url)} and ${hostOf(url)}`;
    if (state.systemId !== best.state.systemId)
      throw conflict(`${both} belong to different database clusters: correct the list`);
    if (state.timeline === best.state.timeline)
      throw conflict(
        `${both} both accept writes on timeline ${state.timeline}: stop the one that should not`,
      );
    conflicts.push(`${hostOf(url)}: it is an old primary (timeline ${state.timeline}); stop it`);
  }
  return { ...best, conflicts };
}

const CONFLICT = { conflict: 'two primaries' };
const conflict = (message: string) => unavailable(message, undefined, CONFLICT);

/** Two hosts accept writes, and none is known to be the newer one. */
export function isPrimaryConflict(error: unknown): boolean {
  return error instanceof GatewayError && error.context['conflict'] === CONFLICT.conflict;
}

/** 28: wrong password or pg_hba.conf; 3D000: no such database. */
function isRefusedUser(answer: ServerState | Error): boolean {
  return answer instanceof Error && /^(28|3D000)/.test(String((answer as { readonly code?: unknown }).code));
}

function lastError(answers: Answers): Error | undefined {
  return [...answers.values()].find((answer) => answer instanceof Error);
}

/** For one session with settings of its own, such as a migration. Does not verify a URL with one host. */
export async function connectToPrimary(
  config: pg.ClientConfig & { readonly connectionString: string },
): Promise<pg.Client> {
  const urls = urlPerHost(config.connectionString);
  const limitMs = config.connectionTimeoutMillis ?? 10_000;
  const connectionString =
    urls.length === 1
      ? config.connectionString
      : (
          await findPrimary({
            urls,
            applicationName: config.application_name ?? 'opentill',
            limitMs,
            history: createServerHistory(),
          })
        ).url;
  const client = new pg.Client({ ...config, connectionString });
  client.on('error', () => undefined); // the running query rejects
  try {
    await client.connect();
    return client;
  } catch (error) {
    void client.end().catch(() => undefined);
    throw translateDatabaseError(error);
  }
}
