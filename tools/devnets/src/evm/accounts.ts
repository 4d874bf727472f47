import { HDNodeWallet } from 'ethers';

/** Default mnemonic of development chains. Its keys are public. */
export const DEV_MNEMONIC = 'test test test test test test test test test test test junk';

/** These accounts hold 10^9 of each test token and 10^6 of the native coin. */
export const RICH_ACCOUNT_INDEXES = [0, 1, 2, 3, 4] as const;

/** Deploys the tokens. Its first nonces determine their addresses. */
export const DEPLOYER_INDEX = 0;

export const CUSTOMER_INDEX = 1;

export interface DevAccount {
  readonly address: string;
  readonly privateKey: string;
}

const accounts = new Map<number, DevAccount>();

/** Derived with m/44'/60'/0'/0/index from DEV_MNEMONIC, and kept: a derivation takes 10 to 100 ms. */
export function devAccount(index: number): DevAccount {
  const known = accounts.get(index);
  if (known !== undefined) return known;
  const { address, privateKey } = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, `m/44'/60'/0'/0/${index}`);
  const account = { address, privateKey };
  accounts.set(index, account);
  return account;
}
