# Debian's packages, of any release and for any processor, unpacked but not installed: for the other scripts in this folder.

# Downloads packages and their dependencies from the configured mirror. Fails with a message if it is unreachable.
fetch_debian() { # folder that keeps the lists, folder for the packages, release, architecture, package...
  local mirror options
  mkdir -p "$1/lists/partial" "$2/partial"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/$' || true)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg arch=$4] $mirror $3 main" > "$1/sources"
  options=(-qq -y -o "Dir::Etc::sourcelist=$1/sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$1/lists" -o Dir::State::status=/dev/null
    -o "Dir::Cache::archives=$2" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o "APT::Architecture=$4" -o "APT::Architectures=$4"
    -o APT::Sandbox::User=root -o APT::Install-Recommends=false -o Acquire::http::Timeout=20 -o Acquire::Retries=0)
  [ -n "$mirror" ] && apt-get "${options[@]}" update && apt-get "${options[@]}" --download-only install "${@:5}" || {
    echo "Debian's archive of $3 for $4 cannot be reached from here"
    return 1
  }
}

unpack_debian() { # root, package...
  local package
  for package in "${@:2}"; do dpkg-deb --fsys-tarfile "$package" | tar -C "$1" -x --keep-directory-symlink; done
}
