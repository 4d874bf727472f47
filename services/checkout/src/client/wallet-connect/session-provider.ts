import type { EvmProvider } from '../wallets/evm.ts';
import type { Client } from './open-client.ts';

export type Session = ReturnType<Client['session']['get']>;

const NAMESPACE = 'eip155';
const SEND = 'eth_sendTransaction';
/** EIP-1193: the owner declined. */
const REFUSED = 4001;
/** "User rejected", for a session and for a request: specs.walletconnect.com, Sign API, error codes. */
const REFUSED_BY_USER: ReadonlySet<unknown> = new Set([5000, 5001, 5002]);
/** Bounds of a request's time in the library. */
const EXPIRY_MIN_SECONDS = 300;
const EXPIRY_MAX_SECONDS = 604_800;
const ORDER_ENDED = 'the order has ended';

/** The session's part that the page uses. */
export type Approved = Pick<Session, 'topic' | 'namespaces'>;
export type Requester = Pick<Client, 'request'>;

export interface SessionUse {
  readonly chainId: number;
  /** Until the order's end. */
  readonly secondsLeft: number;
}

/** Undefined for a session that can pay on the chain. A wallet may approve less than was proposed. */
export function whyUnusable(session: Approved, chainId: number): 'WRONG_NETWORK' | 'UNABLE' | undefined {
  if (accountsOf(session, chainId).length === 0) return 'WRONG_NETWORK';
  return session.namespaces[NAMESPACE]?.methods.includes(SEND) === true ? undefined : 'UNABLE';
}

/** The wallet of a session as an EIP-1193 provider of one chain. It forwards only `eth_sendTransaction`. */
export function sessionProvider(
  client: Requester,
  session: Approved,
  { chainId, secondsLeft }: SessionUse,
): EvmProvider {
  const { topic } = session;
  const expiry = Math.min(Math.max(Math.ceil(secondsLeft), EXPIRY_MIN_SECONDS), EXPIRY_MAX_SECONDS);
  return {
    async request({ method, params = [] }) {
      if (method === 'eth_requestAccounts') return accountsOf(session, chainId);
      if (method === 'eth_chainId') return `0x${chainId.toString(16)}`;
      if (method !== SEND) throw new Error(`the session has no ${method}`);
      const call = { topic, chainId: `${NAMESPACE}:${chainId}`, request: { method, params }, expiry };
      try {
        // The library cannot give the wallet less than five minutes.
        return await within(
          1_000 * Math.min(secondsLeft, EXPIRY_MAX_SECONDS),
          client.request(call),
          ORDER_ENDED,
        );
      } catch (error) {
        throw refusalAs4001(error);
      }
    },
  };
}

/** Wallets answer with WalletConnect's code or with that of EIP-1193. */
export function refusalAs4001(error: unknown): unknown {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return REFUSED_BY_USER.has(code) ? Object.assign(new Error('refused'), { code: REFUSED }) : error;
}

/** Rejects with the message `late` after `ms`. */
export async function within<Answer>(ms: number, answer: Promise<Answer>, late: string): Promise<Answer> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(late)), ms);
  });
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** CAIP-10: `eip155:<chain id>:<address>`. */
function accountsOf({ namespaces }: Approved, chainId: number): readonly string[] {
  const prefix = `${NAMESPACE}:${chainId}:`;
  const accounts = namespaces[NAMESPACE]?.accounts ?? [];
  return accounts
    .filter((account) => account.startsWith(prefix))
    .map((account) => account.slice(prefix.length));
}
