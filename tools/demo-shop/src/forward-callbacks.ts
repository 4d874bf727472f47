import { isLoopback } from '@opentill/domain/loopback';

/** Headers that a receiver needs to verify a callback. */
const FORWARDED = [
  'content-type',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'x-signature',
  'x-signature-next',
  'x-timestamp',
];
/** Marks copies, which are not forwarded again. */
const COPY_HEADER = 'opentill-copy';
const HTTP_PORT = 80;
const TIMEOUT_MS = 5_000;

export interface ForwardedCallback {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface CallbackForwarder {
  readonly target: string | undefined;
  /** Undefined stops. Returns false for a URL that is not http on this machine, or the shop's own. */
  setTarget(url: string | undefined): boolean;
  /** Sends a copy with unchanged bytes. Resolves with the outcome in a few words, or undefined without a target. */
  forward(callback: ForwardedCallback): Promise<string | undefined>;
}

/**
 * Passes verified callbacks on to a program on this machine, which can then verify them by itself.
 *
 * @param ownPort rejected as a target
 * @param machineHost replaces the loopback name of a target, for a shop in a container
 */
export function createCallbackForwarder(
  { ownPort, machineHost }: { readonly ownPort: number; readonly machineHost?: string | undefined },
  send: typeof fetch = fetch,
): CallbackForwarder {
  let target: string | undefined;
  return {
    get target() {
      return target;
    },
    setTarget(url) {
      if (url !== undefined && !isLocal(url, ownPort)) return false;
      target = url;
      return true;
    },
    async forward({ body, headers }) {
      if (target === undefined || headers[COPY_HEADER] !== undefined) return undefined;
      const kept = FORWARDED.flatMap((name) => {
        const value = headers[name];
        return typeof value === 'string' ? [[name, value] as const] : [];
      });
      try {
        const signal = AbortSignal.timeout(TIMEOUT_MS);
        const answer = await send(reachable(target, machineHost), {
          method: 'POST',
          headers: { ...Object.fromEntries(kept), [COPY_HEADER]: '1' },
          body: new Uint8Array(body),
          redirect: 'manual',
          signal,
        });
        await answer.body?.cancel();
        return `answered ${answer.status}`;
      } catch {
        return 'no answer';
      }
    },
  };
}

function reachable(target: string, machineHost: string | undefined): string {
  const url = new URL(target);
  if (machineHost !== undefined) url.hostname = machineHost;
  return url.toString();
}

function isLocal(url: string, ownPort: number): boolean {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== 'http:' || !isLoopback(parsed.hostname)) return false;
  return Number(parsed.port || HTTP_PORT) !== ownPort;
}
