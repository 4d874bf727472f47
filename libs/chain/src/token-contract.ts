/** Identifies a token on its chain, in canonical form: the contract's address (EVM, TRON) or the coin type (SUI). */
export type TokenContract = string & { readonly __brand: 'TokenContract' };
