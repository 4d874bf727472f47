import type { Page } from 'playwright-core';
import { Ed25519Keypair } from '@mysten/sui/keypairs/ed25519';
import { SuiGrpcClient } from '@mysten/sui/grpc';
import { Transaction } from '@mysten/sui/transactions';

export interface InjectedSuiWallet {
  readonly address: string;
  readonly calls: readonly string[];
  refuse(): void;
}

interface SuiWalletOptions {
  readonly nodeUrl: string;
  readonly secretKey: string;
}

interface Asked {
  readonly json: string;
  readonly chain: string;
}

/**
 * Script that an extension adds to a page: registers with both handshakes of the Wallet Standard, and hands over the
 * transaction as JSON (docs.sui.io/standards/wallet-standard).
 */
const IN_THE_PAGE = `{
  const chains = ['sui:mainnet', 'sui:testnet', 'sui:devnet', 'sui:localnet'];
  const wallet = {
    version: '1.0.0',
    name: 'Test Sui Wallet',
    icon: 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"%3E%3Ccircle cx="12" cy="12" r="11" fill="%234da2ff"/%3E%3C/svg%3E',
    chains,
    accounts: [],
    features: {
      'standard:connect': {
        version: '1.0.0',
        async connect() {
          const { address } = await askTestSuiWallet('connect');
          const features = Object.keys(wallet.features);
          wallet.accounts = [{ address, publicKey: new Uint8Array(32), chains, features }];
          return { accounts: wallet.accounts, supportedIntents: ['CoinWithBalance'] };
        },
      },
      'standard:events': { version: '1.0.0', on: () => () => undefined },
      'sui:signAndExecuteTransaction': {
        version: '2.0.0',
        async signAndExecuteTransaction({ transaction, account, chain }) {
          if (account !== wallet.accounts[0]) throw new Error('No such account');
          const { digest, refused } = await askTestSuiWallet('execute', { json: await transaction.toJSON(), chain });
          if (refused)
            throw Object.assign(new Error('Rejected'), { name: 'WalletStandardError', context: { __code: 4001000 } });
          return { digest, bytes: '', signature: '', effects: '' };
        },
      },
    },
  };
  const register = (api) => api.register(wallet);
  addEventListener('wallet-standard:app-ready', ({ detail }) => register(detail));
  dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
}`;

/** Adds a wallet to a page before it loads. The unmodified SDK builds and sends the page's transactions. */
export async function injectSuiWallet(
  page: Page,
  { nodeUrl, secretKey }: SuiWalletOptions,
): Promise<InjectedSuiWallet> {
  const client = new SuiGrpcClient({ network: 'localnet', baseUrl: nodeUrl });
  const signer = Ed25519Keypair.fromSecretKey(secretKey);
  const calls: string[] = [];
  let refuses = false;

  async function answer(what: 'connect' | 'execute', asked?: Asked): Promise<unknown> {
    calls.push(asked === undefined ? what : `${what} ${asked.chain}`);
    if (asked === undefined) return { address: signer.toSuiAddress() };
    if (refuses) return { refused: true };
    const transaction = Transaction.from(asked.json);
    const result = await client.signAndExecuteTransaction({ transaction, signer });
    return { digest: result.Transaction?.digest ?? result.FailedTransaction?.digest };
  }

  await page.exposeFunction('askTestSuiWallet', answer);
  await page.addInitScript({ content: IN_THE_PAGE });
  return { address: signer.toSuiAddress(), calls, refuse: () => void (refuses = true) };
}
