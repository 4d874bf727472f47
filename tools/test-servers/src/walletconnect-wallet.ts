import { SignClient } from '@walletconnect/sign-client';

/** A request that the page sends to the wallet. */
export interface WalletRequest {
  readonly method: string;
  readonly params: unknown;
  /** CAIP-2: `eip155:<chain id>` */
  readonly chainId: string;
  /** Unix time in seconds, after which the wallet drops the request. */
  readonly expiryTimestamp: number | undefined;
}

export interface WalletBehaviour {
  readonly name?: string;
  /** Accounts that it shares, in CAIP-10; null declines the session. */
  readonly approve: (proposal: Proposal) => Promise<readonly string[] | null> | readonly string[] | null;
  /** Methods that it permits; by default those of the proposal. */
  readonly methods?: readonly string[];
  /** Throws an error with `code` to decline. */
  readonly answer?: (request: WalletRequest) => Promise<unknown>;
}

/** The part of a proposal that an owner sees. */
export interface Proposal {
  /** Required and optional ones. */
  readonly chains: readonly string[];
  readonly methods: readonly string[];
  readonly peerUrl: string;
  readonly peerName: string;
}

export interface WalletConnectWallet {
  /** Scans the code. */
  pair(uri: string): Promise<void>;
  readonly proposals: readonly Proposal[];
  readonly requests: readonly WalletRequest[];
  /** Topics of sessions that the page has ended. */
  readonly ended: readonly string[];
  /** Sessions that are open in the wallet. */
  sessions(): number;
  /** The owner ends all sessions. */
  endSessions(): Promise<void>;
  stop(): Promise<void>;
}

const USER_REJECTED = { code: 5000, message: 'User rejected.' };
const USER_DISCONNECTED = { code: 6000, message: 'User disconnected.' };
let started = 0;

/** A wallet's app with the library of WalletConnect, as wallets use it. */
export async function startWalletConnectWallet(
  relayUrl: string,
  { name = 'Phone Wallet', approve, methods, answer = async () => null }: WalletBehaviour,
): Promise<WalletConnectWallet> {
  started += 1;
  const client = await SignClient.init({
    projectId: 'wallet',
    relayUrl,
    customStoragePrefix: `test-wallet-${started}`,
    telemetryEnabled: false,
    logger: 'silent',
    metadata: { name, description: '', url: 'https://wallet.example', icons: [] },
  });
  const close = closing(client);
  const proposals: Proposal[] = [];
  const requests: WalletRequest[] = [];
  const ended: string[] = [];
  client.on('session_delete', ({ topic }) => void ended.push(topic));
  client.on('session_proposal', ({ id, params }) => {
    const { chains = [], methods: wanted, events } = params.optionalNamespaces['eip155'] ?? NOTHING;
    const { url: peerUrl, name: peerName } = params.proposer.metadata;
    const proposal = { chains, methods: wanted, peerUrl, peerName };
    proposals.push(proposal);
    const decide = async (): Promise<void> => {
      const accounts = await approve(proposal);
      if (accounts === null) return client.reject({ id, reason: USER_REJECTED });
      const granted = { accounts: [...accounts], methods: [...(methods ?? wanted)], events };
      await client.approve({ id, namespaces: { eip155: granted } });
    };
    void decide();
  });
  client.on('session_request', ({ id, topic, params }) => {
    const { method, params: given, expiryTimestamp } = params.request as Omit<WalletRequest, 'chainId'>;
    const request = { method, params: given, chainId: params.chainId, expiryTimestamp };
    requests.push(request);
    const respond = async (): Promise<void> => {
      const response = await answer(request).then(
        (result) => ({ id, jsonrpc: '2.0', result }),
        (error: { code: number; message: string }) => ({
          id,
          jsonrpc: '2.0',
          error: { code: error.code, message: error.message },
        }),
      );
      await client.respond({ topic, response });
    };
    respond().catch(() => undefined); // the page may have ended the session
  });
  return {
    pair: async (uri) => void (await client.pair({ uri })),
    proposals,
    requests,
    ended,
    sessions: () => client.session.length,
    async endSessions() {
      for (const topic of client.session.keys) await client.disconnect({ topic, reason: USER_DISCONNECTED });
    },
    stop: close,
  };
}

/** Returns the function that closes the connection for good, after the relay has the messages of this client. */
function closing({ core: { heartbeat, relayer } }: Awaited<ReturnType<typeof SignClient.init>>) {
  const publish = relayer.publish.bind(relayer);
  const publications = new Set<Promise<void>>();
  relayer.publish = async (...message) => {
    const publication = publish(...message);
    publications.add(publication);
    await publication.finally(() => publications.delete(publication));
  };
  return async (): Promise<void> => {
    heartbeat.stop();
    // Without the relay's answer, a promise that the library does not handle would be rejected a minute later.
    relayer.publish = async () => undefined;
    await Promise.allSettled(publications);
    // The library would open the connection again for an answer.
    relayer.transportOpen = async () => undefined;
    relayer.request = async () => new Promise(() => undefined);
    await relayer.transportClose();
  };
}

const NOTHING = { chains: [], methods: [], events: [] };
