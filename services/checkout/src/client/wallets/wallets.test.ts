import { describe, expect, test } from 'vitest';
import { anOrder } from '../../../test/support/an-order.ts';
import { discoverWallets, type WalletScope } from './discover-wallets.ts';
import { evmTransfer, hasFailedOnEvm, payWithEvmWallet, type EvmProvider } from './evm.ts';
import { canPaySui, payWithSuiWallet, suiTransferJson, type SuiWallet } from './sui.ts';
import {
  hasFailedOnTron,
  payWithTronWallet,
  REQUEST_ACCOUNTS,
  REQUEST_ACCOUNTS_BEFORE,
  type TronWallet,
} from './tron.ts';
import { isRefusal, ownIcon, type PayingWallet } from './wallet.ts';

const refusal = Object.assign(new Error('User rejected the request.'), { code: 4001 });
const failure = Object.assign(new Error('internal error'), { code: -32_603 });
const notRefusals = [
  failure,
  Object.assign(new Error('User rejected the request.'), { code: -32_603 }),
  new Error('The transaction was rejected by the node'),
  new Error('access denied'),
  Object.assign(new Error('Request was cancelled by the device'), { code: '4001' }),
  Object.assign(new Error('disconnected'), { code: 4900 }),
  Object.assign(new Error('unsupported'), { context: { __code: 6_160_000 } }),
  Object.assign(new Error('nothing'), { context: null }),
  'User rejected the request.',
  undefined,
];

test('recognises a refusal only by its code', () => {
  expect(isRefusal(refusal)).toBe(true);
  expect(isRefusal({ code: 4001 })).toBe(true);
  // Like @wallet-standard/errors.
  const standard = Object.assign(new Error('Wallet Standard error #4001000'), {
    name: 'WalletStandardError',
    context: { __code: 4_001_000 },
  });
  expect(isRefusal(standard)).toBe(true);
  expect(notRefusals.filter(isRefusal)).toEqual([]);
});

function failingWith(provider: EvmProvider, error: unknown): EvmProvider['request'] {
  const { request } = provider;
  return async (call) => {
    if (call.method === 'eth_sendTransaction') return Promise.reject(error as Error);
    return request(call);
  };
}

describe('payWithEvmWallet', () => {
  interface Made {
    readonly provider: EvmProvider;
    readonly calls: { readonly method: string; readonly params?: readonly unknown[] }[];
  }
  /** The wallet is on another chain than the order by default; `errors` by method. */
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

  test('switches the chain, checks it and sends the exact transfer', async () => {
    const made = make();
    expect(await payWithEvmWallet(made.provider, anOrder({ receivedAmount: '40.50' }))).toEqual({
      outcome: 'SENT',
      transaction: '0xhash',
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

  test('does not switch on the right chain, and sends the native coin by value', async () => {
    const made = make({ chainId: '0xAA36A7' });
    await payWithEvmWallet(made.provider, anOrder({ contractAddress: null, decimals: 18, amount: '0.5' }));
    expect(made.calls).toHaveLength(3);
    expect(sent(made)[0]!.params).toMatchObject([
      { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '0x6f05b59d3b20000' },
    ]);
  });

  test.each([
    ['REFUSED', { errors: { eth_requestAccounts: refusal } }, 0],
    [
      'NOT_READY',
      { errors: { eth_requestAccounts: Object.assign(new Error('pending'), { code: -32_002 }) } },
      0,
    ],
    ['REFUSED', { errors: { wallet_switchEthereumChain: refusal } }, 0],
    ['WRONG_NETWORK', { errors: { wallet_switchEthereumChain: failure } }, 0],
    ['WRONG_NETWORK', { switches: false }, 0],
    ['REFUSED', { errors: { eth_sendTransaction: refusal } }, 1],
    ['FAILED', { errors: { eth_sendTransaction: failure } }, 1],
  ])('returns %s (case %#)', async (outcome, options, sendings) => {
    const made = make(options);
    expect(await payWithEvmWallet(made.provider, anOrder())).toEqual({ outcome });
    expect(sent(made)).toHaveLength(sendings);
  });

  test.each(notRefusals)('returns FAILED when sending fails with %p, as it may have sent', async (error) => {
    const made = make({ chainId: '0xaa36a7' });
    made.provider.request = failingWith(made.provider, error);
    expect(await payWithEvmWallet(made.provider, anOrder())).toEqual({ outcome: 'FAILED' });
  });

  test.each([
    [{ status: '0x0' }, true],
    [{ status: '0x1' }, false],
    [null, false],
    [failure, false],
  ])('reads the receipt %j as failed: %s', async (receipt, failed) => {
    const provider: EvmProvider = {
      async request({ method, params }) {
        expect([method, params]).toEqual(['eth_getTransactionReceipt', ['0xhash']]);
        if (receipt instanceof Error) throw receipt;
        return receipt;
      },
    };
    expect(await hasFailedOnEvm(provider, '0xhash')).toBe(failed);
  });

  test('never passes an invalid address to the wallet', async () => {
    expect(evmTransfer(anOrder({ address: '0x1' }))).toBeUndefined();
    expect(evmTransfer(anOrder({ contractAddress: `0x${'g'.repeat(40)}` }))).toBeUndefined();
    const made = make();
    expect(await payWithEvmWallet(made.provider, anOrder({ address: 'T1' }))).toEqual({ outcome: 'UNABLE' });
    expect(made.calls).toEqual([]);
  });
});

describe('payWithTronWallet', () => {
  const MAIN = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
  const tronOrder = (fields = {}) =>
    anOrder({ chain: 'TRON', contractAddress: 'TToken', address: 'TDeposit', ...fields });

  function make({
    answer = ['TOwner'] as unknown,
    genesis = MAIN,
    sent: sending = { result: true } as { readonly result?: boolean; readonly code?: unknown },
    signError = undefined as unknown,
    sendError = undefined as unknown,
    info = {},
  } = {}) {
    const asked: string[] = [];
    const built: unknown[] = [];
    const sent: unknown[] = [];
    const wallet: TronWallet = {
      async request({ method }) {
        asked.push(method);
        if (answer instanceof Error) throw answer;
        return answer;
      },
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
            if (signError !== undefined) return Promise.reject(signError as Error);
            return { txID: 'id', of: transaction };
          },
          async sendRawTransaction(signed) {
            sent.push(signed);
            if (sendError !== undefined) return Promise.reject(sendError as Error);
            return sending;
          },
          getUnconfirmedTransactionInfo: async () => info,
        },
      },
    };
    const pay = async (fields = {}, method: Parameters<typeof payWithTronWallet>[1] = REQUEST_ACCOUNTS) =>
      payWithTronWallet(wallet, method, tronOrder(fields));
    return { wallet, pay, asked, built, sent };
  }

  test('sends the exact transfer of the token', async () => {
    const { pay, asked, built, sent } = make();
    expect(await pay()).toEqual({ outcome: 'SENT', transaction: 'id' });
    expect(asked).toEqual(['eth_requestAccounts']);
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
    expect(sent).toEqual([{ txID: 'id', of: 'transaction' }]);
  });

  test('sends TRX as a coin transfer', async () => {
    const { pay, built } = make();
    expect(await pay({ contractAddress: null, symbol: 'TRX' })).toMatchObject({ outcome: 'SENT' });
    expect(built).toEqual([['TDeposit', 250_000_000, 'TOwner']]);
  });

  test('asks the older interface with its own method', async () => {
    const { pay, asked } = make({ answer: { code: 200 } });
    expect(await pay({}, REQUEST_ACCOUNTS_BEFORE)).toMatchObject({ outcome: 'SENT' });
    expect(asked).toEqual(['tron_requestAccounts']);
  });

  test('waits for a tronWeb that appears after the page was connected', async () => {
    const { wallet } = make();
    const { tronWeb } = wallet;
    let looked = 0;
    const slow: TronWallet = {
      request: wallet.request,
      get tronWeb() {
        looked += 1;
        return looked < 3 ? false : (tronWeb ?? false);
      },
    };
    expect(await payWithTronWallet(slow, REQUEST_ACCOUNTS, tronOrder())).toMatchObject({ outcome: 'SENT' });
  });

  test.each([
    ['REFUSED', { answer: refusal }, {}],
    ['NOT_READY', { answer: failure }, {}],
    ['WRONG_NETWORK', { genesis: 'nile' }, {}],
    ['WRONG_NETWORK', {}, { chain: 'TRON_TEST' }],
    ['REFUSED', { signError: 'Confirmation declined by user' }, {}],
    ['REFUSED', { signError: new Error('Confirmation declined by user') }, {}],
    ['REFUSED', { signError: 'cancle' }, {}],
    ['REFUSED', { signError: refusal }, {}],
    ['FAILED', { signError: new Error('rejected by the device') }, {}],
    ['FAILED', { sent: { result: false } }, {}],
    ['FAILED', { sent: { code: 'SERVER_BUSY' } }, {}],
    // A signed transaction may have been sent, regardless of the error.
    ['FAILED', { sendError: refusal }, {}],
    ['FAILED', { sendError: 'Confirmation declined by user' }, {}],
  ])('returns %s on TRON (case %#)', async (outcome, options, fields) => {
    expect(await make(options).pay(fields)).toEqual({ outcome });
  });

  test('returns SENT when the wallet sent the transaction by itself', async () => {
    const { pay } = make({ sent: { code: 'DUP_TRANSACTION_ERROR' } });
    expect(await pay()).toEqual({ outcome: 'SENT', transaction: 'id' });
  });

  test.each([
    ['REFUSED', { code: 4001 }],
    ['NOT_READY', { code: 4000 }],
    ['NOT_READY', ''],
    ['NOT_READY', null],
    ['REFUSED', refusal],
  ])('returns %s for an answer of the older interface (case %#)', async (outcome, answer) => {
    expect(await make({ answer }).pay({}, REQUEST_ACCOUNTS_BEFORE)).toEqual({ outcome });
  });

  test.each([
    [{ id: 'id', result: 'FAILED', receipt: { result: 'OUT_OF_ENERGY' } }, true],
    [{ id: 'id', receipt: { result: 'SUCCESS' } }, false],
    [{ id: 'other', result: 'FAILED' }, false],
    [{}, false],
  ])('reads the TRON receipt %j as failed: %s', async (info, failed) => {
    expect(await hasFailedOnTron(make({ info }).wallet, 'id')).toBe(failed);
    expect(await hasFailedOnTron({ request: async () => null }, 'id')).toBe(false);
  });
});

describe('payWithSuiWallet', () => {
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

  test('requests coins of the exact sum for the deposit address', async () => {
    const { wallet, inputs } = make();
    expect(await payWithSuiWallet(wallet, suiOrder())).toEqual({ outcome: 'SENT', transaction: 'digest' });
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

  test('splits SUI from the gas coin without an intent', async () => {
    const { wallet, inputs } = make({ intents: [] });
    const order = suiOrder({ contractAddress: '0x2::sui::SUI', decimals: 9, amount: '1' });
    expect(await payWithSuiWallet(wallet, order)).toMatchObject({ outcome: 'SENT' });
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
    ['REFUSED', { error: refusal }, {}],
    ['FAILED', { error: new Error('User rejection') }, {}],
    ['FAILED', { error: new Error('timeout') }, {}],
  ])('returns %s on Sui (case %#)', async (outcome, options, fields) => {
    expect(await payWithSuiWallet(make(options).wallet, suiOrder(fields))).toEqual({ outcome });
  });

  test('offers a wallet only on its chains', () => {
    const { wallet } = make();
    expect(canPaySui(wallet, { chain: 'SUI' })).toBe(true);
    expect(canPaySui({ ...wallet, chains: ['solana:mainnet'] }, { chain: 'SUI' })).toBe(false);
    expect(canPaySui({ ...wallet, features: {} }, { chain: 'SUI' })).toBe(false);
  });
});

describe('discoverWallets', () => {
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

  test('finds EVM wallets on request and later ones, each once', () => {
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

  const tronWallet = () => ({ request: async () => null, tronWeb: false });
  const announceTron = (scope: EventTarget, name: string, provider: object = tronWallet()) =>
    scope.dispatchEvent(
      new CustomEvent('TIP6963:announceProvider', {
        detail: { info: { uuid: name, name, icon: ICON, rdns: `com.${name}` }, provider },
      }),
    );

  test.each([
    ['tronLink', tronWallet()],
    ['tron', { ...tronWallet(), isTronLink: true }],
  ])('finds the TRON wallet in the window as %s, also when it comes later', (name, wallet) => {
    const { scope, found } = find('TRON');
    expect(found()).toEqual([]);
    Object.assign(scope, { [name]: wallet });
    scope.dispatchEvent(new Event('tronLink#initialized'));
    scope.dispatchEvent(new Event('tronLink#initialized'));
    expect(namesOf(found())).toEqual([['TronLink', null]]);
  });

  test('finds announced TRON wallets, and TronLink only once', () => {
    const tron = { ...tronWallet(), isTronLink: true };
    const { scope, found } = find('TRON', (target) => {
      Object.assign(target, { tron, tronLink: tronWallet() });
      target.addEventListener('TIP6963:requestProvider', () => announceTron(target, 'TronLink', tron));
    });
    announceTron(scope, 'Other');
    scope.dispatchEvent(new Event('tronLink#initialized'));
    expect(namesOf(found())).toEqual([
      ['TronLink', ICON],
      ['Other', ICON],
    ]);
    const late = find('TRON', (target) => Object.assign(target, { tronLink: tronWallet() }));
    announceTron(late.scope, 'TronLink');
    expect(namesOf(late.found())).toEqual([['TronLink', null]]);
  });

  test('does not mistake another TRON wallet in the window for TronLink', () => {
    const { found } = find('TRON', (target) => Object.assign(target, { tron: tronWallet() }));
    expect(found()).toEqual([]);
  });

  test('finds Sui wallets by both ways of the handshake', () => {
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

  test('accepts only icons that are data URLs', () => {
    for (const icon of ['https://x/y.png', 'javascript:x', 'data:text/html,x', undefined, 7]) {
      expect(ownIcon(icon)).toBeNull();
    }
    expect(ownIcon(ICON)).toBe(ICON);
  });
});
