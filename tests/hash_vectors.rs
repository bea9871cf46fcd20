//! Every hash function against its published test vectors, and against golden vectors that independent
//! implementations made (`fixtures/hash/generate.py` says which, and describes the inputs).

use bloomline::hash::{CHECK_TEXT, Hasher, SecretKey};

/// XXH3's sanity-check vectors (xxHash, `cli/xsum_sanity_check.c`): length, hash with seed 0, hash with
/// seed `PRIME64`, of the prefixes of the sanity buffer.
#[test]
fn xxh3_meets_its_published_vectors() {
    const PRIME32: u64 = 0x9E37_79B1;
    const PRIME64: u64 = 0x9E37_79B1_85EB_CA8D;
    const VECTORS: [(usize, u64, u64); 12] = [
        (0, 0x2D06800538D394C2, 0xA8A6B918B2F0364A),
        (1, 0xC44BDFF4074EECDB, 0x032BE332DD766EF8),
        (6, 0x27B56A84CD2D7325, 0x84589C116AB59AB9),
        (12, 0xA713DAF0DFBB77E7, 0xE7303E1B2336DE0E),
        (24, 0xA3FE70BF9D3510EB, 0x850E80FC35BDD690),
        (48, 0x397DA259ECBA1F11, 0xADC2CBAA44ACC616),
        (80, 0xBCDEFBBB2C47C90A, 0xC6DD0CB699532E73),
        (195, 0xCD94217EE362EC3A, 0xBA68003D370CB3D9),
        (403, 0xCDEB804D65C6DEA4, 0x6259F6ECFD6443FD),
        (512, 0x617E49599013CB6B, 0x3CE457DE14C27708),
        (2048, 0xDD59E2C3A5F038E0, 0x66F81670669ABABC),
        (2367, 0xCB37AEB9E5D361ED, 0xD2DB3415B942B42A),
    ];
    let buffer: Vec<u8> = std::iter::successors(Some(PRIME32), |state| Some(state.wrapping_mul(PRIME64)))
        .map(|state| state.to_be_bytes()[0])
        .take(2367)
        .collect();
    for (length, unseeded, seeded) in VECTORS {
        assert_eq!(Hasher::xxh3_64(0).hash(&buffer[..length]).get(), unseeded, "length {length}");
        assert_eq!(Hasher::xxh3_64(PRIME64).hash(&buffer[..length]).get(), seeded, "length {length}");
    }
}

/// Vectors of MurmurHash3 x64 128 (Guava, `Murmur3Hash128Test`): seed, first half of the hash, key.
#[test]
fn murmur3_meets_published_vectors() {
    const VECTORS: [(u32, u64, &str); 9] = [
        (0, 0, ""),
        (0, 0x629942693E10F867, "hell"),
        (1, 0xA78DDFF5ADAE8D10, "hello"),
        (2, 0x8A486B23F422E826, "hello "),
        (3, 0x2EA59F466F6BED8C, "hello w"),
        (4, 0x79F6305A386C572C, "hello wo"),
        (5, 0xC2219D213EC1F1B5, "hello wor"),
        (0, 0xE34BBC7BBC071B6C, "The quick brown fox jumps over the lazy dog"),
        (0, 0x658CA970FF85269A, "The quick brown fox jumps over the lazy cog"),
    ];
    for (seed, expected, key) in VECTORS {
        assert_eq!(Hasher::murmur3_x64_128(seed).hash(key.as_bytes()).get(), expected, "{key:?}");
    }
}

/// Vectors of raw FNV-1a (draft-eastlake-fnv and its authors' `test_fnv.c`). The finaliser is a bijection,
/// so taking it off again must give them.
#[test]
fn fnv1a_meets_its_published_vectors_once_the_finaliser_is_undone() {
    const VECTORS: [(&[u8], u64); 7] = [
        (b"", 0xCBF29CE484222325),
        (b"a", 0xAF63DC4C8601EC8C),
        (b"foobar", 0x85944171F73967E8),
        (b"chongo was here!\n", 0x46810940EFF5F915),
        (b"\xFF\x00\x00\x01", 0x6961196491CC682D),
        (b"\x01\x00\x00\xFF", 0xAD2BB1774799DFE9),
        (b"\xFF\x00\x00\x02", 0x6961166491CC6314),
    ];
    for (key, raw) in VECTORS {
        assert_eq!(undo_fmix64(Hasher::fnv1a_64().hash(key).get()), raw, "{key:?}");
    }
}

/// Undoes MurmurHash3's 64-bit finaliser. An xor with a shift by 33 of 64 bits undoes itself, and a
/// multiplication is undone by the inverse modulo 2⁶⁴.
fn undo_fmix64(mut x: u64) -> u64 {
    for factor in [0xC4CE_B9FE_1A85_EC53_u64, 0xFF51_AFD7_ED55_8CCD] {
        x ^= x >> 33;
        x = x.wrapping_mul(inverse(factor));
    }
    x ^ (x >> 33)
}

/// The inverse of an odd number modulo 2⁶⁴, by Newton's iteration: an odd number is its own inverse in the
/// low three bits, and each step doubles the bits that are right.
fn inverse(odd: u64) -> u64 {
    let inverse = (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))));
    assert_eq!(odd.wrapping_mul(inverse), 1);
    inverse
}

/// The 64 vectors of the SipHash reference code (`vectors.h`; length 15 is appendix A of the paper too):
/// the key is 00 01 … 0f, message n is the n bytes 00 01 …, the hash is written least byte first.
#[test]
fn siphash_meets_its_published_vectors() {
    #[rustfmt::skip]
    const VECTORS: [&str; 64] = [
        "310e0edd47db6f72", "fd67dc93c539f874", "5a4fa9d909806c0d", "2d7efbd796666785",
        "b7877127e09427cf", "8da699cd64557618", "cee3fe586e46c9cb", "37d1018bf50002ab",
        "6224939a79f5f593", "b0e4a90bdf82009e", "f3b9dd94c5bb5d7a", "a7ad6b22462fb3f4",
        "fbe50e86bc8f1e75", "903d84c02756ea14", "eef27a8e90ca23f7", "e545be4961ca29a1",
        "db9bc2577fcc2a3f", "9447be2cf5e99a69", "9cd38d96f0b3c14b", "bd6179a71dc96dbb",
        "98eea21af25cd6be", "c7673b2eb0cbf2d0", "883ea3e395675393", "c8ce5ccd8c030ca8",
        "94af49f6c650adb8", "eab8858ade92e1bc", "f315bb5bb835d817", "adcf6b0763612e2f",
        "a5c91da7acaa4dde", "716595876650a2a6", "28ef495c53a387ad", "42c341d8fa92d832",
        "ce7cf2722f512771", "e37859f94623f3a7", "381205bb1ab0e012", "ae97a10fd434e015",
        "b4a31508beff4d31", "81396229f0907902", "4d0cf49ee5d4dcca", "5c73336a76d8bf9a",
        "d0a704536ba93e0e", "925958fcd6420cad", "a915c29bc8067318", "952b79f3bc0aa6d4",
        "f21df2e41d4535f9", "87577519048f53a9", "10a56cf5dfcd9adb", "eb75095ccd986cd0",
        "51a9cb9ecba312e6", "96afadfc2ce666c7", "72fe52975a4364ee", "5a1645b276d592a1",
        "b274cb8ebf87870a", "6f9bb4203de7b381", "eaecb2a30b22a87f", "9924a43cc1315724",
        "bd838d3aafbf8db7", "0b1a2a3265d51aea", "135079a3231ce660", "932b2846e4d70666",
        "e1915f5cb1eca46c", "f325965ca16d629f", "575ff28e60381be5", "724506eb4c328a95",
    ];
    let bytes: Vec<u8> = (0..64).collect();
    let key = bytes[..16].try_into().expect("16 bytes");
    let hasher = Hasher::siphash_2_4(SecretKey::from_bytes(key));
    for (length, expected) in VECTORS.iter().enumerate() {
        let hash = hasher.hash(&bytes[..length]).get();
        assert_eq!(format!("{:016x}", hash.swap_bytes()), *expected, "length {length}");
    }
}

#[test]
fn xxh3_meets_the_golden_vectors() {
    check_golden(include_str!("../fixtures/hash/xxh3-64.tsv"), 4, |seed| Hasher::xxh3_64(hex(seed)));
}

#[test]
fn murmur3_meets_the_golden_vectors() {
    check_golden(include_str!("../fixtures/hash/murmur3-x64-128.tsv"), 4, |seed| {
        Hasher::murmur3_x64_128(hex(seed).try_into().expect("a seed of 32 bits"))
    });
}

#[test]
fn fnv1a_meets_the_golden_vectors() {
    check_golden(include_str!("../fixtures/hash/fnv1a-64.tsv"), 1, |_| Hasher::fnv1a_64());
}

#[test]
fn siphash_meets_the_golden_vectors() {
    check_golden(include_str!("../fixtures/hash/siphash-2-4.tsv"), 4, |secret| {
        let secret = u128::from_str_radix(secret, 16).expect("16 bytes in hexadecimal");
        Hasher::siphash_2_4(SecretKey::from_bytes(secret.to_be_bytes()))
    });
}

/// Holds every line of a golden file against the hashers that `make` makes of its seeds.
fn check_golden(file: &str, columns: usize, make: impl Fn(&str) -> Hasher) {
    let mut lines = file.lines().filter(|line| !line.starts_with('#'));
    let seeds: Vec<&str> = lines.next().expect("a line of seeds").split('\t').skip(1).collect();
    assert_eq!(seeds.len(), columns);
    let hashers: Vec<Hasher> = seeds.iter().map(|seed| make(seed)).collect();

    let mut inputs = 0;
    for line in lines {
        let mut fields = line.split('\t');
        let name = fields.next().expect("the name of an input");
        let expected: Vec<&str> = fields.collect();
        let key = input(name);
        let got: Vec<String> =
            hashers.iter().map(|hasher| format!("{:016x}", hasher.hash(&key).get())).collect();
        assert_eq!(got, expected, "{name}");
        inputs += 1;
    }
    // 301 prefixes of the pattern, 128 bytes, twice 70 runs, the check text.
    assert_eq!(inputs, 301 + 128 + 2 * 70 + 1);
}

/// The bytes of a named input; `generate.py` defines the names.
fn input(name: &str) -> Vec<u8> {
    let (kind, n) = name.split_once(' ').unwrap_or((name, "0"));
    let length = || n.parse::<u32>().expect("a length");
    match kind {
        "pattern" => (1..=length()).map(|i| i.wrapping_mul(0x9E37_79B1).to_be_bytes()[0]).collect(),
        "byte" => vec![hex(n).try_into().expect("a byte")],
        "rising" => (0x80..=0xFF).cycle().take(length() as usize).collect(),
        "ones" => vec![0xFF; length() as usize],
        "check" => CHECK_TEXT.to_vec(),
        _ => panic!("unknown input {name:?}"),
    }
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).expect("hexadecimal digits")
}
