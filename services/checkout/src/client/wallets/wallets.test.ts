import { describe, expect, test } from '@jest/globals';
import { anOrder } from '../../../test/support/an-order.ts';
import { discoverWallets, type WalletScope } from './discover-wallets.ts';
import { evmTransfer, payWithEvmWallet, type EvmProvider } from './evm.ts';
import { canPaySui, payWithSuiWallet, suiTransferJson, type SuiWallet } from './sui.ts';
import { payWithTronLink, type TronLink } from './tron.ts';
import { ownIcon, type PayingWallet } from './wallet.ts';

const refusal = Object.assign(new Error('User rejected the request.'), { code: 4001 });
const failure = Object.assign(new Error('internal error'), { code: -32_603 });

describe('an injected EVM wallet', () => {
  interface Made {
    readonly provider: EvmProvider;
    readonly calls: { readonly method: string; readonly params?: readonly unknown[] }[];
  }
  /** On another chain at first, unless said otherwise; errors by method. */
  function make({ chainId = '0x1', errors = {} as Record<string, Error>, switches = true } = {}): Made {
    const calls: Made['calls'] = [];
    let current = chainId;
    return {
      calls,
      provider: {
        async request(call) {
          calls.push(call);
          const error = errors[call.method];
          if (error !== undefined) throw error;
          switch (call.method) {
            case 'eth_requestAccounts':
              return ['0xabc0000000000000000000000000000000000abc'];
            case 'eth_chainId':
              return current;
            case 'wallet_switchEthereumChain':
              if (switches) [{ chainId: current }] = call.params as [{ chainId: string }];
              return null;
            default:
              return '0xhash';
          }
        },
      },
    };
  }
  const sent = ({ calls }: Made) => calls.filter(({ method }) => method === 'eth_sendTransaction');

  test('changes to the chain, looks again, and sends the exact transfer', async () => {
    const made = make();
    expect(await payWithEvmWallet(made.provider, anOrder({ receivedAmount: '40.50' }))).toEqual({
      outcome: 'SENT',
    });
    expect(made.calls.map(({ method }) => method)).toEqual([
      'eth_requestAccounts',
      'eth_chainId',
      'wallet_switchEthereumChain',
      'eth_chainId',
      'eth_sendTransaction',
    ]);
    expect(sent(made)[0]!.params).toEqual([
      {
        from: '0xabc0000000000000000000000000000000000abc',
        chainId: '0xaa36a7',
        to: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
        value: '0x0',
        data: `0xa9059cbb00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8${(209_500_000).toString(16).padStart(64, '0')}`,
      },
    ]);
  });

  test('on the chain already is not asked to change; the native coin goes by value', async () => {
    const made = make({ chainId: '0xAA36A7' });
    await payWithEvmWallet(made.provider, anOrder({ contractAddress: null, decimals: 18, amount: '0.5' }));
    expect(made.calls).toHaveLength(3);
    expect(sent(made)[0]!.params).toMatchObject([
      { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '0x6f05b59d3b20000' },
    ]);
  });

  test.each([
    ['REFUSED', { errors: { eth_requestAccounts: refusal } }, 0],
    ['REFUSED', { errors: { wallet_switchEthereumChain: refusal } }, 0],
    ['WRONG_NETWORK', { errors: { wallet_switchEthereumChain: failure } }, 0],
    ['WRONG_NETWORK', { switches: false }, 0],
    ['REFUSED', { errors: { eth_sendTransaction: refusal } }, 1],
    ['FAILED', { errors: { eth_sendTransaction: failure } }, 1],
  ])('%s %#', async (outcome, options, sendings) => {
    const made = make(options);
    expect(await payWithEvmWallet(made.provider, anOrder())).toEqual({ outcome });
    expect(sent(made)).toHaveLength(sendings);
  });

  test('is never handed an address that is none', async () => {
    expect(evmTransfer(anOrder({ address: '0x1' }))).toBeUndefined();
    expect(evmTransfer(anOrder({ contractAddress: `0x${'g'.repeat(40)}` }))).toBeUndefined();
    const made = make();
    expect(await payWithEvmWallet(made.provider, anOrder({ address: 'T1' }))).toEqual({ outcome: 'UNABLE' });
    expect(made.calls).toEqual([]);
  });
});

describe('TronLink', () => {
  const MAIN = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
  const tronOrder = (fields = {}) =>
    anOrder({ chain: 'TRON', contractAddress: 'TToken', address: 'TDeposit', ...fields });
  function make({
    code = 200,
    genesis = MAIN,
    result = true,
    signError = undefined as Error | undefined,
  } = {}) {
    const built: unknown[] = [];
    const sent: unknown[] = [];
    const wallet: TronLink = {
      request: async () => ({ code }),
      tronWeb: {
        defaultAddress: { base58: 'TOwner' },
        transactionBuilder: {
          async triggerSmartContract(...args) {
            built.push(args);
            return { result: { result: true }, transaction: 'transaction' };
          },
          async sendTrx(...args) {
            built.push(args);
            return 'coins';
          },
        },
        trx: {
          getBlock: async () => ({ blockID: genesis }),
          async sign(transaction) {
            if (signError !== undefined) throw signError;
            return `signed ${String(transaction)}`;
          },
          async sendRawTransaction(signed) {
            sent.push(signed);
            return { result };
          },
        },
      },
    };
    return { wallet, built, sent };
  }

  test('sends the exact transfer of the token', async () => {
    const { wallet, built, sent } = make();
    expect(await payWithTronLink(wallet, tronOrder())).toEqual({ outcome: 'SENT' });
    expect(built).toEqual([
      [
        'TToken',
        'transfer(address,uint256)',
        { feeLimit: 100_000_000, callValue: 0 },
        [
          { type: 'address', value: 'TDeposit' },
          { type: 'uint256', value: '250000000' },
        ],
        'TOwner',
      ],
    ]);
    expect(sent).toEqual(['signed transaction']);
  });

  test('sends TRX as coins', async () => {
    const { wallet, built } = make();
    expect(await payWithTronLink(wallet, tronOrder({ contractAddress: null, symbol: 'TRX' }))).toEqual({
      outcome: 'SENT',
    });
    expect(built).toEqual([['TDeposit', 250_000_000, 'TOwner']]);
  });

  test.each([
    ['REFUSED', { code: 4001 }, {}],
    ['WRONG_NETWORK', { genesis: 'nile' }, {}],
    ['WRONG_NETWORK', {}, { chain: 'TRON_TEST' }],
    ['REFUSED', { signError: new Error('Confirmation declined by user') }, {}],
    ['FAILED', { signError: new Error('device gone') }, {}],
    ['FAILED', { result: false }, {}],
  ])('%s %#', async (outcome, options, fields) => {
    expect(await payWithTronLink(make(options).wallet, tronOrder(fields))).toEqual({ outcome });
  });
});

describe('a wallet of the Wallet Standard on Sui', () => {
  const account = { address: `0x${'ab'.repeat(32)}`, chains: ['sui:mainnet'] };
  const address = `0x${'0'.repeat(63)}1`;
  const USDC = '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC';
  const suiOrder = (fields = {}) =>
    anOrder({ chain: 'SUI', symbol: 'USDC', contractAddress: USDC, address, ...fields });
  function make({ intents = ['CoinWithBalance'], error = undefined as Error | undefined } = {}) {
    const inputs: { chain: string; json: unknown }[] = [];
    const wallet: SuiWallet = {
      name: 'Slush',
      icon: 'data:image/svg+xml;base64,AA==',
      chains: ['sui:mainnet', 'sui:testnet'],
      accounts: [],
      features: {
        'standard:connect': { connect: async () => ({ accounts: [account], supportedIntents: intents }) },
        'sui:signAndExecuteTransaction': {
          async signAndExecuteTransaction(input: {
            transaction: { toJSON(): Promise<string> };
            chain: string;
          }) {
            inputs.push({ chain: input.chain, json: JSON.parse(await input.transaction.toJSON()) });
            if (error !== undefined) throw error;
            return { digest: 'digest' };
          },
        },
      },
    };
    return { wallet, inputs };
  }

  test('is asked for coins of the exact sum for the deposit address', async () => {
    const { wallet, inputs } = make();
    expect(await payWithSuiWallet(wallet, suiOrder())).toEqual({ outcome: 'SENT' });
    expect(inputs).toMatchObject([
      {
        chain: 'sui:mainnet',
        json: {
          version: 2,
          sender: account.address,
          inputs: [{ Pure: { bytes: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=' } }],
          commands: [
            { $Intent: { name: 'CoinWithBalance', data: { type: USDC, balance: '250000000' } } },
            { TransferObjects: { objects: [{ Result: 0 }], address: { Input: 0 } } },
          ],
        },
      },
    ]);
  });

  test('splits SUI from the gas coin, without any intent', async () => {
    const { wallet, inputs } = make({ intents: [] });
    const order = suiOrder({ contractAddress: '0x2::sui::SUI', decimals: 9, amount: '1' });
    expect(await payWithSuiWallet(wallet, order)).toEqual({ outcome: 'SENT' });
    expect(inputs[0]!.json).toMatchObject({
      inputs: [{ Pure: { bytes: 'AMqaOwAAAAA=' } }, {}],
      commands: [
        { SplitCoins: { coin: { GasCoin: true }, amounts: [{ Input: 0 }] } },
        { TransferObjects: { objects: [{ NestedResult: [0, 0] }], address: { Input: 1 } } },
      ],
    });
    expect(JSON.parse(suiTransferJson(order, account.address))).toEqual(inputs[0]!.json);
  });

  test.each([
    ['UNABLE', { intents: [] }, {}],
    ['WRONG_NETWORK', {}, { chain: 'SUI_TEST' }],
    ['REFUSED', { error: new Error('User rejection') }, {}],
    ['FAILED', { error: new Error('timeout') }, {}],
  ])('%s %#', async (outcome, options, fields) => {
    expect(await payWithSuiWallet(make(options).wallet, suiOrder(fields))).toEqual({ outcome });
  });

  test('is offered for its chains alone', () => {
    const { wallet } = make();
    expect(canPaySui(wallet, { chain: 'SUI' })).toBe(true);
    expect(canPaySui({ ...wallet, chains: ['solana:mainnet'] }, { chain: 'SUI' })).toBe(false);
    expect(canPaySui({ ...wallet, features: {} }, { chain: 'SUI' })).toBe(false);
  });
});

describe('finding wallets', () => {
  const ICON = 'data:image/png;base64,AA==';
  const namesOf = (wallets: readonly PayingWallet[]) => wallets.map(({ name, icon }) => [name, icon]);
  function find(chain: 'ETH' | 'TRON' | 'SUI', prepare: (scope: EventTarget) => void = () => undefined) {
    const scope = new EventTarget();
    prepare(scope);
    let found: readonly PayingWallet[] = [];
    discoverWallets(scope as unknown as WalletScope, { chain }, (wallets) => (found = wallets));
    return { scope, found: () => found };
  }
  const announce = (scope: EventTarget, name: string, icon = ICON, rdns = `com.${name}`) =>
    scope.dispatchEvent(
      new CustomEvent('eip6963:announceProvider', {
        detail: { info: { uuid: name, name, icon, rdns }, provider: { request: async () => null } },
      }),
    );

  test('of EVM: asks, hears those who come later, each once', () => {
    const { scope, found } = find('ETH', (target) =>
      target.addEventListener('eip6963:requestProvider', () => announce(target, 'early')),
    );
    announce(scope, 'later', 'https://tracker.example/icon.png');
    announce(scope, 'early');
    scope.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: {} } }));
    scope.dispatchEvent(new Event('eip6963:announceProvider'));
    expect(namesOf(found())).toEqual([
      ['early', ICON],
      ['later', null],
    ]);
    for (let i = 0; i < 50; i += 1) announce(scope, `wallet-${i}`);
    expect(found()).toHaveLength(12);
  });

  test('of TRON: the one in the window, also when it comes later', () => {
    const { scope, found } = find('TRON');
    expect(found()).toEqual([]);
    Object.assign(scope, { tronLink: { request: async () => null, tronWeb: false } });
    scope.dispatchEvent(new Event('tronLink#initialized'));
    expect(namesOf(found())).toEqual([['TronLink', null]]);
  });

  test('of Sui: both ways of the handshake', () => {
    const wallet = (name: string) => ({
      name,
      icon: ICON,
      chains: ['sui:mainnet'],
      accounts: [],
      features: { 'standard:connect': {}, 'sui:signAndExecuteTransaction': {} },
    });
    const { scope, found } = find('SUI', (target) =>
      target.addEventListener('wallet-standard:app-ready', (event) =>
        (event as CustomEvent<{ register(...wallets: unknown[]): void }>).detail.register(wallet('early')),
      ),
    );
    scope.dispatchEvent(
      new CustomEvent('wallet-standard:register-wallet', {
        detail: (api: { register(...wallets: unknown[]): void }) => api.register(wallet('later')),
      }),
    );
    expect(namesOf(found())).toEqual([
      ['early', ICON],
      ['later', ICON],
    ]);
  });

  test('loads no icon from elsewhere', () => {
    for (const icon of ['https://x/y.png', 'javascript:x', 'data:text/html,x', undefined, 7]) {
      expect(ownIcon(icon)).toBeNull();
    }
    expect(ownIcon(ICON)).toBe(ICON);
  });
});
