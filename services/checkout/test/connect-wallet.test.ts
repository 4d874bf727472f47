import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  startWalletConnectRelay,
  type RelayCall,
  type WalletConnectRelay,
} from '@opentill/test-servers/walletconnect-relay';
import {
  startWalletConnectWallet,
  type WalletBehaviour,
  type WalletConnectWallet,
} from '@opentill/test-servers/walletconnect-wallet';
import { waitUntil } from '@opentill/testkit/wait-until';
import { connectWallet } from '../src/client/wallet-connect/connect-wallet.ts';

const CHAIN_ID = 11155111;
const ACCOUNT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const APPROVED = [`eip155:${CHAIN_ID}:${ACCOUNT}`];
const TRANSFER = { method: 'eth_sendTransaction', params: [{ from: ACCOUNT, to: ACCOUNT, value: '0x1' }] };

let relay: WalletConnectRelay;
const wallets: WalletConnectWallet[] = [];

beforeAll(async () => {
  relay = await startWalletConnectRelay();
});
afterEach(async () => {
  await Promise.all(wallets.splice(0).map(async (wallet) => wallet.stop()));
  await waitUntil('no client is connected to the relay', () => relay.connected() === 0);
});
afterAll(async () => {
  await relay.stop();
});

async function aWallet(behaviour: WalletBehaviour): Promise<WalletConnectWallet> {
  const wallet = await startWalletConnectWallet(relay.url, behaviour);
  wallets.push(wallet);
  return wallet;
}

/** The payer's side: closes the dialog, or shows its code to a wallet. */
function aDialog(onUri: (uri: string) => void = () => undefined) {
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => (close = resolve));
  return { closed, close, showUri: onUri };
}

const connect = async (
  dialog: ReturnType<typeof aDialog>,
  changes: { relayUrl?: string; relayTimeoutMs?: number } = {},
) =>
  connectWallet({
    projectId: 'a'.repeat(32),
    relayUrl: relay.url,
    chainId: CHAIN_ID,
    relayTimeoutMs: 60_000,
    shopName: 'Acme',
    pageOrigin: 'https://pay.example',
    dialog,
    ...changes,
  });

/** Connects a wallet that scans the code at once. */
async function connected(behaviour: Partial<WalletBehaviour> = {}) {
  const wallet = await aWallet({ approve: () => APPROVED, ...behaviour });
  const connection = await connect(aDialog((uri) => void wallet.pair(uri)));
  if (connection === null || 'outcome' in connection)
    throw new Error(`not connected: ${connection?.outcome}`);
  return { wallet, connection };
}

test('asks a wallet for one method on one chain, and ends the session afterwards', async () => {
  const answer = async () => '0xhash';
  const { wallet, connection } = await connected({ answer });
  expect(wallet.proposals).toEqual([
    {
      chains: [`eip155:${CHAIN_ID}`],
      methods: ['eth_sendTransaction'],
      peerName: 'Acme',
      peerUrl: 'https://pay.example',
    },
  ]);
  expect(connection.name).toBe('Phone Wallet');
  expect(await connection.provider(900).request(TRANSFER)).toBe('0xhash');
  connection.disconnect();
  await waitUntil('the session has ended', () => wallet.sessions() === 0);
  await wallet.stop();
  await waitUntil('no client is connected to the relay', () => relay.connected() === 0);
  const { connection: second, wallet: other } = await connected({ answer });
  expect(await second.provider(900).request(TRANSFER)).toBe('0xhash');
  expect([wallet.requests.length, other.requests.length]).toEqual([1, 1]);
  second.disconnect();
});

test('shows the relay neither the method nor the contract of a payment', async () => {
  const before = relay.calls.length;
  const { connection } = await connected({ answer: async () => '0xhash' });
  await connection.provider(900).request(TRANSFER);
  connection.disconnect();
  const calls = relay.calls.slice(before);
  const page = calls.find(({ method }) => method === 'wc_proposeSession')!.client;
  const isSent = ({ client, method }: RelayCall) => client === page && /publish|propose/.test(method);
  const sent = calls.filter(isSent).map(({ params }) => params);
  expect(sent.filter((params) => 'tvf' in params).length).toBeGreaterThan(0);
  for (const { tvf } of sent) expect(Object.keys(tvf ?? { correlationId: 0 })).toEqual(['correlationId']);
  expect([...new Set(sent.flatMap((params) => Object.keys(params)))].sort()).toEqual([
    'attestation',
    'correlationId',
    'message',
    'pairingTopic',
    'prompt',
    'sessionProposal',
    'tag',
    'topic',
    'ttl',
    'tvf',
  ]);
});

test('ends the session of a wallet that approves after the payer closed the dialog', async () => {
  const approve = Promise.withResolvers<void>();
  const wallet = await aWallet({
    async approve() {
      await approve.promise;
      return APPROVED;
    },
  });
  const dialog = aDialog((uri) => void wallet.pair(uri));
  const result = connect(dialog);
  await waitUntil('the wallet has the proposal', () => wallet.proposals.length === 1);
  dialog.close();
  expect(await result).toBeNull();
  approve.resolve();
  await waitUntil('the session has ended', () => wallet.ended.length === 1);
  expect(wallet.sessions()).toBe(0);
  expect(wallet.requests).toEqual([]);
});

test('gives up when the relay does not answer, or when the payer does not wait for it', async () => {
  const silent = await startWalletConnectRelay();
  silent.fallSilent();
  expect(await connect(aDialog(), { relayUrl: silent.url, relayTimeoutMs: 20 })).toEqual({
    outcome: 'NOT_READY',
  });
  const dialog = aDialog();
  const result = connect(dialog, { relayUrl: silent.url });
  dialog.close();
  expect(await result).toBeNull();
  await waitUntil('no client is connected to the silent relay', () => silent.connected() === 0);
  await silent.stop();
});

test('returns REFUSED when the owner declines the connection', async () => {
  const wallet = await aWallet({ approve: () => null });
  expect(await connect(aDialog((uri) => void wallet.pair(uri)))).toEqual({ outcome: 'REFUSED' });
});

test.each([
  ['declines', { code: 5000, message: 'User rejected.' }],
  ['declines, in an older wallet', { code: 4001, message: 'User rejected the request.' }],
])('names a payment that the owner %s by the code of EIP-1193', async (_, error) => {
  const { connection } = await connected({ answer: async () => Promise.reject(error as never) });
  await expect(connection.provider(900).request(TRANSFER)).rejects.toMatchObject({ code: 4001 });
  connection.disconnect();
});

test('forwards no other method to the wallet', async () => {
  const { wallet, connection } = await connected();
  const provider = connection.provider(900);
  expect(await provider.request({ method: 'eth_requestAccounts' })).toEqual([ACCOUNT]);
  expect(await provider.request({ method: 'eth_chainId' })).toBe('0xaa36a7');
  for (const method of ['personal_sign', 'eth_signTypedData_v4', 'wallet_switchEthereumChain']) {
    await expect(provider.request({ method, params: [] })).rejects.toThrow(`the session has no ${method}`);
  }
  expect(wallet.requests).toEqual([]);
  connection.disconnect();
});

test('ends a request when the session or the order ends, and sends its time limit', async () => {
  const { wallet, connection } = await connected({ answer: () => new Promise(() => undefined) });
  await expect(connection.provider(0.01).request(TRANSFER)).rejects.toThrow('the order has ended');
  const asked = connection.provider(3_600).request(TRANSFER);
  const ended = expect(asked).rejects.toMatchObject({ code: 6000 });
  await waitUntil('the wallet has the request', () => wallet.requests.length > 0);
  await wallet.endSessions();
  await ended;
  const now = Date.now() / 1_000;
  for (const { expiryTimestamp } of wallet.requests) expect(expiryTimestamp).toBeGreaterThan(now + 240);
  connection.disconnect();
});
