// What a bundler for browsers finds in the place of every module: the token signs payouts.
throw new Error('@opentill/sdk signs with the merchant’s token and must never reach a browser.');
