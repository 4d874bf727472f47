import type { EvmProvider } from '../wallets/evm.ts';
import type { WalletOutcome } from '../wallets/wallet.ts';
import { closeClient, openClient, type Client, type ClientRequest } from './open-client.ts';
import type { PairingDialog } from './open-dialog.ts';
import { refusalAs4001, sessionProvider, whyUnusable, within, type Session } from './session-provider.ts';

export interface ConnectRequest extends ClientRequest {
  readonly chainId: number;
  readonly dialog: PairingDialog;
  /** The relay has the proposal within this time, or the page gives up. */
  readonly relayTimeoutMs?: number;
}

export interface Connection {
  /** As the wallet names itself; null if it does not. */
  readonly name: string | null;
  /** A request to the wallet ends with the order's time, in seconds from now. */
  provider(secondsLeft: number): EvmProvider;
  disconnect(): void;
}

interface Proposal {
  readonly uri?: string;
  approval(): Promise<Session>;
}

const RELAY_TIMEOUT_MS = 20_000;
const NAME_LENGTH_MAX = 40;
/** USER_DISCONNECTED of https://specs.walletconnect.com/2.0/specs/clients/sign/error-codes. */
const USER_DISCONNECTED = { code: 6000, message: 'User disconnected.' };

/** Shows the code until a wallet has scanned it and its owner has answered. Null when the payer closed the dialog. */
export async function connectWallet(request: ConnectRequest): Promise<Connection | WalletOutcome | null> {
  const { dialog, chainId, relayTimeoutMs = RELAY_TIMEOUT_MS } = request;
  let end = async (): Promise<void> => undefined;
  try {
    const client = await openClient(request);
    const proposed: Promise<Proposal> = client.connect({ optionalNamespaces: namespacesOf(chainId) });
    end = async () => closeClient(client);
    const answer = Promise.race([proposed, dialog.closed]);
    const proposal = await within(relayTimeoutMs, answer, 'the relay does not answer');
    if (proposal === undefined) return null;
    if (proposal.uri === undefined) return { outcome: 'NOT_READY' };
    const approved = proposal.approval();
    end = async () => leave(client, approved);
    dialog.showUri(proposal.uri);
    const session = await Promise.race([approved, dialog.closed]);
    if (session === undefined) return null;
    const obstacle = whyUnusable(session, chainId);
    if (obstacle !== undefined) return { outcome: obstacle };
    const disconnect = end;
    end = async () => undefined;
    const name = nameOf(session);
    return {
      name: name === '' ? null : name,
      provider: (secondsLeft) => sessionProvider(client, session, { chainId, secondsLeft }),
      disconnect: () => void disconnect(),
    };
  } catch (error) {
    const { code } = refusalAs4001(error) as { readonly code?: unknown };
    return { outcome: code === 4001 ? 'REFUSED' : 'NOT_READY' };
  } finally {
    dialog.close();
    void end();
  }
}

/** Invisible characters could change the direction of the text around the name. */
function nameOf({ peer }: Session): string {
  return peer.metadata.name.replaceAll(/\p{C}/gu, '').trim().slice(0, NAME_LENGTH_MAX);
}

/** The only method that a wallet is asked to permit. */
function namespacesOf(chainId: number) {
  return {
    eip155: {
      chains: [`eip155:${chainId}`],
      methods: ['eth_sendTransaction'],
      events: ['accountsChanged', 'chainChanged'],
    },
  };
}

/**
 * Ends the session, so that the wallet does not keep one for each payment, and closes the connection. After the payer
 * closed the dialog, a wallet that scanned the code may still approve: the proposal lasts five minutes.
 */
async function leave(client: Client, approved: Promise<Session>): Promise<void> {
  try {
    const { topic } = await approved;
    await client.disconnect({ topic, reason: USER_DISCONNECTED });
  } catch {
    // There is no session, or the wallet has ended it.
  } finally {
    await closeClient(client);
  }
}
