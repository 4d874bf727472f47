import { describe, expect, it } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';
import { ADDRESS_CODECS } from '../address-codecs.ts';
import { createAssetBook } from '../asset-book.ts';
import type { CreatedOrder } from '../store/create-orders.ts';
import {
  explainDecimals,
  explainExisting,
  explainOrigin,
  explainRange,
  explainReceiver,
  explainUnsupported,
} from './explain-order.ts';

const EVM_ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const TRON_ADDRESS = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH';
const SUI_ADDRESS = '0xa2d14fad60c56049ecf75246a481934691214ce413e6a8ae2fe6834c173a6133';

const token = (symbol: string, minAmount: string | null, maxAmount: string | null) => ({
  symbol,
  contract: null,
  decimals: 6,
  displayDecimals: 2,
  minAmount,
  maxAmount,
});
const network = (chain: Chain, family: Family): NetworkConfig => ({
  chain,
  family,
  enabled: true,
  name: chain,
  rpcUrls: ['http://x'],
  nativeSymbol: 'X',
  nativeDecimals: 18,
  confirmations: 3,
  blockTimeMs: 1_000,
  pollIntervalMs: 250,
  reorgWindow: 64,
  maxBlockRange: 10,
  tokens: [token('USDT', '0.01', '1000000'), token('LOW', '1', null), token('HIGH', null, '9')],
});
const assets = createAssetBook(
  [network('ETH_SEPOLIA', 'EVM'), network('TRON_TEST', 'TRON'), network('SUI_TEST', 'SUI')],
  ADDRESS_CODECS,
);
const asset = (chain: Chain, symbol = 'USDT') => assets.find(chain, symbol)!;

describe('symbols and amounts', () => {
  it('says whether symbol or chain is not supported', () => {
    expect(explainUnsupported(assets, 'ETH', 'USDT')).toBe(
      'chain: ETH is not enabled; one of ETH_SEPOLIA, TRON_TEST, SUI_TEST',
    );
    expect(explainUnsupported(assets, 'SUI_TEST', 'DAI')).toBe(
      "symbol: 'DAI' is not configured on SUI_TEST; one of USDT, LOW, HIGH. GET /v1/symbol/supportSymbols lists all",
    );
  });

  it('counts decimals without trailing zeros', () => {
    expect(explainDecimals('1.12345670', asset('ETH_SEPOLIA'))).toBe(
      'amount: has 7 decimals; USDT on ETH_SEPOLIA has 6',
    );
  });

  it.each([
    ['USDT', 'at least 0.01 and at most 1000000.00'],
    ['LOW', 'at least 1.00'],
    ['HIGH', 'at most 9.00'],
  ])('gives the range of %s', (symbol, range) => {
    expect(explainRange('0.001', asset('ETH_SEPOLIA', symbol))).toBe(
      `amount: '0.001' is out of range; ${symbol} on ETH_SEPOLIA takes ${range}`,
    );
  });
});

it('lists the origins of a merchant and the command that sets them', () => {
  expect(explainOrigin(new URL('https://evil.example/?secret'), ['https://shop.example'])).toBe(
    "returnUrl: the origin 'https://evil.example' is not on the list of this merchant: one of https://shop.example. The operator sets the list: opentill merchant set <id> --return-origin",
  );
});

it('stays within 600 characters for a merchant with many long origins', () => {
  const origins = Array.from({ length: 50 }, (_, i) => `https://${'x'.repeat(200)}${i}.example`);
  const detail = explainOrigin(new URL(`https://${'y'.repeat(60)}.example`), origins);
  expect(detail.length).toBeLessThan(600);
  expect(detail).toContain(' and 46 more. The operator');
});

describe('receivers', () => {
  const evm = 'ETH_SEPOLIA takes 0x and 40 hex digits';
  it.each<[Chain, string, string]>([
    ['ETH_SEPOLIA', TRON_ADDRESS, `is an address of TRON; ${evm}`],
    ['ETH_SEPOLIA', SUI_ADDRESS, `is an address of SUI; ${evm}`],
    ['TRON_TEST', EVM_ADDRESS, 'is an address of EVM; TRON_TEST takes T and 33 characters of base58check'],
    [
      'SUI_TEST',
      EVM_ADDRESS,
      'is an address of EVM; SUI_TEST takes 0x and 64 hex digits, not a reserved address',
    ],
    [
      'ETH_SEPOLIA',
      EVM_ADDRESS.replace('dc79C8', 'dc79c8'),
      'has a wrong EIP-55 checksum, so a character or its case is wrong; copy the address again',
    ],
    ['ETH_SEPOLIA', `0x${'0'.repeat(40)}`, 'is the zero address; money sent to it is lost'],
    ['ETH_SEPOLIA', EVM_ADDRESS.slice(2), `has 40 characters and is not an address; ${evm}`],
    [
      'TRON_TEST',
      TRON_ADDRESS.toLowerCase(),
      'has 34 characters and is not an address; TRON_TEST takes T and 33 characters of base58check',
    ],
  ])('explains a receiver that %s rejects (case %#)', (chain, text, detail) => {
    expect(explainReceiver(text, asset(chain), assets)).toBe(`receiveAddress: ${detail}`);
  });
});

it('lists the values of an existing order that differ from the request', () => {
  const existing: CreatedOrder = {
    orderId: 'a',
    orderType: 'PAYOUT',
    uid: null,
    chain: 'ETH_SEPOLIA',
    family: 'EVM',
    symbol: 'USDT',
    decimals: 6,
    displayDecimals: 2,
    amount: 5_000_000n,
    address: EVM_ADDRESS.toLowerCase(),
    sourceAddress: null,
    expiresAt: new Date(0),
    currency: null,
    price: null,
    rate: null,
    choices: null,
    options: null,
    linkId: null,
  };
  expect(explainExisting(existing, ['amount'], assets)).toBe('orderId: exists with amount 5.00');
  expect(explainExisting(existing, ['orderType', 'amount'], assets)).toBe('orderId: exists as a payout');
  expect(explainExisting(existing, ['receiveAddress', 'uid', 'chain', 'symbol', 'amount'], assets)).toBe(
    `orderId: exists with amount 5.00, symbol USDT, chain ETH_SEPOLIA, uid null, receiveAddress ${EVM_ADDRESS}`,
  );
});
